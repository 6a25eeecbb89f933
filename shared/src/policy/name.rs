//! Names: those that the policy gives, and those that requests bring.

use crate::invalid::Fault;
use crate::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX};

/// Checks a name that the policy gives: 1 to 64 of `a-z 0-9 _ -`. Such names stand in headers, paths and metric
/// labels without any escape.
///
/// # Errors
/// The fault, for the caller to place.
pub fn label(name: &str) -> Result<(), Fault> {
    length(name, LABEL_BYTES_MAX)?;
    let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    match name.chars().find(|c| !allowed(*c)) {
        None => Ok(()),
        Some(got) => Err(Fault::Character {
            got,
            allowed: "a-z, 0-9, _ and -",
        }),
    }
}

/// Checks a name that a request brings (a tenant, a key): 1 to 128 bytes, no control characters.
///
/// # Errors
/// The fault, for the caller to place.
///
/// ```
/// use weir_shared::policy::name::tenant_name;
/// assert!(tenant_name("enterprise:alpha").is_ok());
/// assert!(tenant_name("line\nbreak").is_err());
/// assert!(tenant_name(&"x".repeat(129)).is_err());
/// ```
pub fn tenant_name(name: &str) -> Result<(), Fault> {
    length(name, NAME_BYTES_MAX)?;
    match name.chars().find(|c| c.is_control()) {
        None => Ok(()),
        Some(got) => Err(Fault::Character {
            got,
            allowed: "all but control characters",
        }),
    }
}

fn length(name: &str, bytes_max: usize) -> Result<(), Fault> {
    if name.is_empty() {
        return Err(Fault::Missing);
    }
    if name.len() > bytes_max {
        return Err(Fault::TooMany {
            got: name.len(),
            max: bytes_max,
            what: "bytes",
        });
    }
    Ok(())
}
