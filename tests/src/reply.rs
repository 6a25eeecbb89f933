//! An HTTP answer, read in full.

use anyhow::{Context, Result, ensure};
use reqwest::header::HeaderMap;
use serde::de::DeserializeOwned;
use weir_shared::wire::problem::{MEDIA_TYPE, Problem};

/// Status, headers and body of an answer.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// A header as text; none when it is absent or not text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text, for messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, whatever the status is.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_slice(&self.body)
            .with_context(|| format!("status {} with the body {:?}", self.status, self.text()))
    }

    /// The body as JSON when the status is 200.
    pub fn ok<T: DeserializeOwned>(&self) -> Result<T> {
        ensure!(
            self.status == 200,
            "status {} with the body {:?}",
            self.status,
            self.text()
        );
        self.json()
    }

    /// The problem document. An error unless the media type is that of a problem and the document repeats the status.
    pub fn problem(&self) -> Result<Problem> {
        let media_type = self.header("content-type").unwrap_or_default();
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        ensure!(
            essence == MEDIA_TYPE,
            "media type {media_type:?}, status {}, body {:?}",
            self.status,
            self.text()
        );
        let problem: Problem = self.json()?;
        ensure!(
            problem.status == self.status,
            "status {} but the problem says {}",
            self.status,
            problem.status
        );
        ensure!(
            !problem.kind.is_empty() && !problem.title.is_empty() && !problem.detail.is_empty(),
            "an empty member in {problem:?}"
        );
        Ok(problem)
    }
}
