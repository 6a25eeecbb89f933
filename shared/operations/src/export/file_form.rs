//! The forms in which a list is a file.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::LABEL_BYTES_MAX;
use weir_core::query::Query;

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileForm {
    /// Comma-separated values, with the names of the columns in the first line.
    Csv,
    /// One entry of the list a line, as JSON.
    JsonLines,
}

impl FileForm {
    /// Takes `format` out of a query; `None` where no file is asked for.
    ///
    /// # Errors
    /// A form that is not served.
    ///
    /// ```
    /// use weir_operations::export::file_form::FileForm;
    /// use weir_core::query::Query;
    /// let take = |text| FileForm::take(&mut Query::new([("format", text)]).unwrap());
    /// assert_eq!(take("csv"), Ok(Some(FileForm::Csv)));
    /// assert_eq!(take("xlsx").unwrap_err().field, "/format");
    /// assert_eq!(FileForm::take(&mut Query::default()), Ok(None));
    /// ```
    pub fn take(query: &mut Query) -> Result<Option<Self>, Invalid> {
        match query.take("format").as_deref() {
            None => Ok(None),
            Some("csv") => Ok(Some(Self::Csv)),
            Some("jsonl") => Ok(Some(Self::JsonLines)),
            Some(other) => {
                let got = other.chars().take(LABEL_BYTES_MAX).collect();
                let served = "csv, jsonl";
                Err(Invalid::new("/format", Fault::Unserved { got, served }))
            }
        }
    }

    /// The media type of a file.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8",
            Self::JsonLines => "application/x-ndjson",
        }
    }

    /// How the name of a file ends.
    #[must_use]
    pub fn extension(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::JsonLines => "jsonl",
        }
    }
}
