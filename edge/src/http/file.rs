//! Answers that a browser saves as a file, written a part at a time.

use futures_util::stream::{self, LocalBoxStream, StreamExt};
use serde::Serialize;
use weir_shared::export::file_form::FileForm;
use weir_shared::export::sheet::Sheet;
use weir_shared::limits::EXPORT_BATCH;
use worker::{Response, ResponseBuilder};

use super::failure::Failure;
use super::reply;

/// Entries of a list, each as JSON.
pub type Batch = Vec<String>;

/// A list as a file.
#[derive(Debug, Clone, Copy)]
pub struct ListFile {
    /// What it is written in.
    pub form: FileForm,
    /// Its columns.
    pub sheet: &'static Sheet,
}

impl ListFile {
    /// The file of entries that are at hand, or made as they are written: each as JSON.
    ///
    /// # Errors
    /// When the platform refuses to build the answer.
    pub fn of(
        self,
        mut entries: Box<dyn Iterator<Item = serde_json::Result<String>>>,
    ) -> Result<Response, Failure> {
        let batches = std::iter::from_fn(move || {
            let batch = entries.by_ref().take(EXPORT_BATCH);
            let batch: serde_json::Result<Batch> = batch.collect();
            match batch {
                Ok(batch) if batch.is_empty() => None,
                Ok(batch) => Some(Ok(batch)),
                Err(error) => Some(Err(error.into())),
            }
        });
        self.of_batches(stream::iter(batches).boxed_local())
    }

    /// The file of entries that are read as it is written. Where that fails, it breaks off.
    ///
    /// # Errors
    /// When the platform refuses to build the answer.
    pub fn of_batches(
        self,
        batches: LocalBoxStream<'static, worker::Result<Batch>>,
    ) -> Result<Response, Failure> {
        let header = self.sheet.header(self.form).into_bytes();
        let parts = batches.map(move |batch| self.written(&batch?));
        let name = format!("weir-{}.{}", self.sheet.name, self.form.extension());
        let builder = attachment(self.form.media_type(), &name)?;
        Ok(builder.from_stream(stream::iter([Ok(header)]).chain(parts))?)
    }

    fn written(self, batch: &[String]) -> worker::Result<Vec<u8>> {
        let mut text = String::new();
        for entry in batch {
            self.sheet.write(self.form, entry, &mut text)?;
        }
        Ok(text.into_bytes())
    }
}

/// A list as JSON, or as a file of its entries where one is asked for.
///
/// # Errors
/// When the platform refuses to build the answer.
pub fn listed<V: Serialize, T: Serialize + 'static>(
    form: Option<FileForm>,
    sheet: &'static Sheet,
    view: V,
    entries: fn(V) -> Vec<T>,
) -> Result<Response, Failure> {
    match form {
        None => reply::json(200, &view),
        Some(form) => ListFile { form, sheet }.of(written(entries(view).into_iter())),
    }
}

/// Entries, each written as JSON when its turn comes.
pub fn written<T: Serialize>(
    entries: impl Iterator<Item = T> + 'static,
) -> Box<dyn Iterator<Item = serde_json::Result<String>>> {
    Box::new(entries.map(|entry| serde_json::to_string(&entry)))
}

/// An answer that a browser saves under that name.
///
/// # Errors
/// When the platform refuses a header.
pub fn attachment(media_type: &str, name: &str) -> Result<ResponseBuilder, Failure> {
    let disposition = format!("attachment; filename=\"{name}\"");
    let builder = ResponseBuilder::new()
        .with_status(200)
        .with_header("content-type", media_type)?
        .with_header("content-disposition", &disposition)?
        .with_header("cache-control", "no-store")?;
    Ok(builder)
}
