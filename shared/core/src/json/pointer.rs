//! JSON pointers (RFC 6901).

/// One more step of a JSON pointer: `name` with `~` and `/` escaped (RFC 6901, section 3).
///
/// ```
/// assert_eq!(weir_core::json::pointer::step("a/b~c"), "/a~1b~0c");
/// ```
#[must_use]
pub fn step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}
