//! Text between two marks of a file, replaced by other text.

use anyhow::{Context, Result, ensure};

/// The text with what stands between `<!-- bench NAME -->` and `<!-- end NAME -->` replaced.
///
/// # Errors
/// When one of the marks is missing, there more than once, or after the other; when `new` holds a mark itself.
pub(super) fn replace(text: &str, name: &str, new: &str) -> Result<String> {
    let start = format!("<!-- bench {name} -->");
    let end = format!("<!-- end {name} -->");
    ensure!(
        !new.contains("<!--"),
        "the new text of `{name}` holds a mark: {new}"
    );
    let (before, rest) = split(text, &start)?;
    let (_, after) = split(rest, &end)?;
    ensure!(
        !before.contains(&end),
        "`{end}` is there more than once, or before `{start}`"
    );
    Ok(format!("{before}{start}\n{}\n{end}{after}", new.trim()))
}

/// What is before and after the only place of a mark.
fn split<'a>(text: &'a str, mark: &str) -> Result<(&'a str, &'a str)> {
    let parts = text
        .split_once(mark)
        .with_context(|| format!("the mark `{mark}` is missing"))?;
    ensure!(
        !parts.1.contains(mark),
        "the mark `{mark}` is there more than once"
    );
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "a\n<!-- bench x -->\nold\n<!-- end x -->\nb <!-- bench y --><!-- end y -->\n";

    fn refused(text: &str, name: &str, new: &str, part: &str) {
        let message = replace(text, name, new).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn only_what_is_between_the_marks_changes() {
        let new = replace(TEXT, "x", "\n| new |\n\n").unwrap();
        assert_eq!(
            new,
            "a\n<!-- bench x -->\n| new |\n<!-- end x -->\nb <!-- bench y --><!-- end y -->\n"
        );
        assert_eq!(replace(&new, "x", "old").unwrap(), TEXT);
        assert!(
            replace(TEXT, "y", "z")
                .unwrap()
                .ends_with("b <!-- bench y -->\nz\n<!-- end y -->\n")
        );
    }

    #[test]
    fn a_missing_mark_is_named() {
        refused(TEXT, "z", "new", "the mark `<!-- bench z -->` is missing");
        refused(
            "<!-- bench z -->",
            "z",
            "new",
            "the mark `<!-- end z -->` is missing",
        );
        refused(
            "<!-- end z --> <!-- bench z -->",
            "z",
            "new",
            "the mark `<!-- end z -->` is missing",
        );
    }

    #[test]
    fn a_mark_too_many_is_refused() {
        let twice = TEXT.repeat(2);
        refused(&twice, "x", "new", "more than once");
        let ends = format!("<!-- end x -->{TEXT}");
        refused(&ends, "x", "new", "more than once");
        refused(TEXT, "x", "<!-- end x -->", "holds a mark");
    }
}
