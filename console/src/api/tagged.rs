//! What can be changed, with the tag that a change of it names.

/// A body and its version. The tag is as the server wrote it, quotes included, and goes back as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged<T> {
    /// What it is.
    pub body: T,
    /// The `ETag`; empty when the server sent none.
    pub etag: String,
}

/// A header can carry no character beyond one byte: text travels as the bytes of its UTF-8, a character each, and in one
/// line.
///
/// ```
/// assert_eq!(weir_console::api::tagged::header_text("more\nfor é "), "more for Ã©");
/// ```
pub fn header_text(text: &str) -> String {
    let line = text.replace(char::is_control, " ");
    line.trim().bytes().map(char::from).collect()
}

/// When the server put an answer together: the reports begin with it.
///
/// ```
/// use weir_console::api::tagged::put_together_at;
/// assert_eq!(put_together_at(r#"{"at":1700000000000,"policy_revision":7}"#), Some(1_700_000_000_000));
/// ```
pub fn put_together_at(body: &str) -> Option<u64> {
    let rest = body.strip_prefix("{\"at\":")?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    rest[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_without_a_time_has_none() {
        for body in [
            "",
            "{}",
            "{\"at\":",
            "{\"at\":12",
            "{\"at\":\"1\"}",
            "{\"at\":-1}",
            "{\"a\":1}",
        ] {
            assert_eq!(put_together_at(body), None, "{body}");
        }
    }

    #[test]
    fn a_reason_in_any_language_becomes_a_header_that_a_browser_takes() {
        for (text, sent) in [
            ("", ""),
            ("  plain  ", "plain"),
            ("two\r\nlines", "two  lines"),
            ("tab\there", "tab here"),
        ] {
            assert_eq!(header_text(text), sent);
        }
        for text in ["Übergröße", "日本語", "→ 5"] {
            let sent = header_text(text);
            let bytes: Vec<u8> = sent
                .chars()
                .map(|c| u8::try_from(c as u32).unwrap())
                .collect();
            assert_eq!(String::from_utf8(bytes).unwrap(), text);
        }
    }
}
