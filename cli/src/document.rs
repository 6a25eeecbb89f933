//! A policy document out of a file, validated as the server validates it. What depends on how a deployment is set up (its
//! secrets, its hosts) only the deployment knows.

use std::fs;
use std::io::Read;

use serde_json::Value;
use weir_shared::invalid::{Fault, Invalid, read_json};
use weir_shared::json;
use weir_shared::limits::POLICY_BODY_BYTES_MAX;
use weir_shared::policy::{Policy, work};
use weir_shared::wire::policy::PolicyDocument;

use crate::failure::Failure;

/// The name of the file that is the standard input.
pub const STDIN: &str = "-";

/// A document that is valid.
#[derive(Debug, Clone)]
pub struct Valid {
    /// As it is saved, every top-level key written out.
    pub document: PolicyDocument,
    /// What it comes to.
    pub policy: Policy,
}

impl Valid {
    /// The document as JSON, every top-level key written out.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn value(&self) -> Result<Value, Failure> {
        json::to_value(&self.document)
            .map_err(|why| Failure::unintelligible("the policy document", why))
    }
}

/// Reads and validates a file.
///
/// # Errors
/// When it cannot be read, or is no policy.
pub fn read(file: &str) -> Result<Valid, Failure> {
    let bytes = bytes(file)?;
    valid(&bytes).map_err(|invalid| Failure::Refused {
        file: called(file),
        invalid,
    })
}

/// The bytes of a file, or of the standard input.
///
/// # Errors
/// When it cannot be read.
pub fn bytes(file: &str) -> Result<Vec<u8>, Failure> {
    let read = if file == STDIN {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        fs::read(file)
    };
    read.map_err(|why| Failure::Unreadable {
        file: called(file),
        why,
    })
}

/// What a file is called where something is said of it.
///
/// ```
/// use weir_cli::document::called;
/// assert_eq!((called("-"), called("policy.json")), ("the standard input".into(), "policy.json".into()));
/// ```
#[must_use]
pub fn called(file: &str) -> String {
    match file {
        STDIN => "the standard input".to_owned(),
        name => name.to_owned(),
    }
}

/// A text as a policy.
///
/// # Errors
/// The first value at fault.
///
/// ```
/// use weir_cli::document::valid;
/// let refused = valid(br#"{ "regions": ["weur"], "tiers": { "free": { "weight": 0 } } }"#).unwrap_err();
/// assert_eq!(refused.field, "/tiers/free/weight");
/// ```
pub fn valid(bytes: &[u8]) -> Result<Valid, Invalid> {
    if bytes.len() > POLICY_BODY_BYTES_MAX {
        let fault = Fault::TooMany {
            got: bytes.len(),
            max: POLICY_BODY_BYTES_MAX,
            what: "bytes",
        };
        return Err(Invalid::new("", fault));
    }
    let document: PolicyDocument = read_json(bytes)?;
    work::bounded(&document)?;
    let policy = Policy::try_from(&document)?;
    Ok(Valid { document, policy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_deployment_ships_is_valid_and_written_out_in_full() {
        let valid = valid(include_bytes!("../../policy.json")).unwrap();
        let value = valid.value().unwrap();
        assert!(
            value["routes"].is_array() && value["limits"].is_object(),
            "{value}"
        );
    }

    #[test]
    fn a_fault_is_found_where_it_stands() {
        for (text, field) in [
            ("{", ""),
            (r#"{ "regions": ["weur"], "colour": 1 }"#, "/colour"),
            (r#"{ "regions": "weur" }"#, "/regions"),
            (
                r#"{ "regions": ["weur"], "budgets": { "a/b": {} } }"#,
                "/budgets/a~1b",
            ),
        ] {
            let refused = valid(text.as_bytes()).unwrap_err();
            assert_eq!(refused.field, field, "{text}: {refused}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let failure = read("no-such-file.json").unwrap_err().to_string();
        assert!(
            failure.starts_with("no-such-file.json cannot be read: "),
            "{failure}"
        );
    }

    #[test]
    fn a_text_that_no_server_takes_is_refused_for_its_length() {
        let refused = valid(&vec![b' '; POLICY_BODY_BYTES_MAX + 1]).unwrap_err();
        assert!(refused.to_string().contains("bytes"), "{refused}");
    }
}
