//! Names: those that the policy gives, those that requests bring, and those under which keys are kept.

use crate::invalid::Fault;
use crate::limits::{LABEL_BYTES_MAX, NAME_BYTES_MAX};

/// Stands between tenant and key, and before the owner in the key of what that owner has too many of: no name that a
/// request brings contains a control character.
pub const SEPARATOR: char = '\u{1}';

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
/// use weir_core::name::tenant_name;
/// assert!(tenant_name("enterprise:alpha").is_ok());
/// assert!(tenant_name("line\nbreak").is_err());
/// assert!(tenant_name(&"x".repeat(129)).is_err());
/// ```
pub fn tenant_name(name: &str) -> Result<(), Fault> {
    line(name, NAME_BYTES_MAX)
}

/// Checks a line of text: 1 to `bytes_max` bytes, no control characters.
///
/// # Errors
/// The fault, for the caller to place.
///
/// ```
/// use weir_core::invalid::Fault;
/// use weir_core::name::line;
/// assert!(line("Tokens of all models", 20).is_ok());
/// assert_eq!(line("", 20), Err(Fault::Missing));
/// assert!(line("21 bytes are too many", 20).is_err());
/// assert!(line("two\nlines", 20).is_err());
/// ```
pub fn line(text: &str, bytes_max: usize) -> Result<(), Fault> {
    length(text, bytes_max)?;
    match text.chars().find(|c| c.is_control()) {
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

/// The key under which a state is kept: the tenant alone where each has one and no key was given.
///
/// ```
/// use weir_core::name::full_key;
/// assert_eq!(full_key(None, "203.0.113.9"), "203.0.113.9");
/// assert_eq!(full_key(Some("acme"), "login"), "acme\u{1}login");
/// assert_eq!(full_key(Some("acme"), ""), "acme");
/// ```
#[must_use]
pub fn full_key(tenant: Option<&str>, key: &str) -> String {
    match tenant {
        Some(tenant) if key.is_empty() => tenant.to_owned(),
        Some(tenant) => format!("{tenant}{SEPARATOR}{key}"),
        None => key.to_owned(),
    }
}

/// The tenant of a key of a state that each tenant has for itself.
///
/// ```
/// use weir_core::name::{full_key, tenant_of_key};
/// assert_eq!(tenant_of_key(&full_key(Some("acme"), "login")), "acme");
/// assert_eq!(tenant_of_key(&full_key(Some("acme"), "")), "acme");
/// ```
#[must_use]
pub fn tenant_of_key(key: &str) -> &str {
    key.split(SEPARATOR).next().unwrap_or(key)
}

/// The name under which a meter's states are kept: no limit of the policy has it.
///
/// ```
/// use weir_core::name::meter_name;
/// assert_eq!(meter_name("results"), "meter\u{1}results");
/// ```
#[must_use]
pub fn meter_name(name: &str) -> String {
    format!("meter{SEPARATOR}{name}")
}

/// The name under which a guard's states are kept: no limit of the policy has it.
///
/// ```
/// use weir_core::name::guard_name;
/// assert_eq!(guard_name("queries"), "guard\u{1}queries");
/// ```
#[must_use]
pub fn guard_name(name: &str) -> String {
    format!("guard{SEPARATOR}{name}")
}
