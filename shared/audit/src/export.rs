//! The log as a file: one line a record, `{"hash":"HASH","record":TEXT}`. The hash is SHA-256 of the bytes of `TEXT` as
//! they stand, so that any tool can verify it without knowing how JSON is written here.

use weir_wire::audit::{AuditFault, AuditRecord};

use super::chain::{Found, Verifier};

const START: &str = "{\"hash\":\"";
const MIDDLE: &str = "\",\"record\":";
const END: &str = "}";

/// The line of a record.
///
/// ```
/// let line = weir_audit::export::line("{\"sequence\":1}", "ab12");
/// assert_eq!(line, "{\"hash\":\"ab12\",\"record\":{\"sequence\":1}}");
/// ```
#[must_use]
pub fn line(text: &str, hash: &str) -> String {
    format!("{START}{hash}{MIDDLE}{text}{END}")
}

/// Verifies an export, from the record behind `(sequence, hash)` on; `(0, "")` for the whole log.
///
/// # Errors
/// The first line that is not as it was written.
pub fn verify<'a>(
    lines: impl IntoIterator<Item = &'a str>,
    (sequence, hash): (u64, &str),
) -> Result<Vec<AuditRecord>, AuditFault> {
    let mut verifier = Verifier::behind(sequence, hash);
    let mut records = Vec::new();
    for line in lines {
        let sequence = verifier.through() + 1;
        let parts = line.strip_prefix(START).and_then(|rest| {
            let (hash, rest) = rest.split_once(MIDDLE)?;
            Some((hash, rest.strip_suffix(END)?))
        });
        let Some((hash, text)) = parts else {
            let what = "it is not a line of an export".to_owned();
            return Err(AuditFault { sequence, what });
        };
        records.push(verifier.check(Found {
            sequence,
            text,
            hash,
        })?);
    }
    Ok(records)
}
