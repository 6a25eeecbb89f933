//! What `GET /healthz` answers.

use serde::{Deserialize, Serialize};

/// That the Worker runs, and which version of it answers.
///
/// ```
/// use weir_wire::health::{Health, Version};
///
/// let version = Version { id: "5f2c".to_owned(), tag: "v2".to_owned() };
/// let told = serde_json::to_string(&Health::of(Some(version))).unwrap();
/// assert_eq!(told, r#"{"status":"ok","version":{"id":"5f2c","tag":"v2"}}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `ok`: a Worker that cannot answer does not say so.
    pub status: String,
    /// Absent where the platform does not tell it: on workerd.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

/// A version of the Worker, as the platform names it. During a gradual deployment two versions answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// The platform's own name for it: a UUID.
    pub id: String,
    /// What whoever uploaded it called it (`wrangler versions upload --tag`); empty where nobody did.
    pub tag: String,
}

impl Health {
    /// Of a Worker that runs.
    #[must_use]
    pub fn of(version: Option<Version>) -> Self {
        Self {
            status: "ok".to_owned(),
            version,
        }
    }
}
