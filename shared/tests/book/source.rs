//! What is read out of the sources: comments of items are what a page says of them.

/// The comment that stands directly above a line: its words, as one paragraph.
pub(super) fn comment(lines: &[&str]) -> String {
    let above = lines
        .iter()
        .rev()
        .take_while(|line| line.trim_start().starts_with("///"));
    let mut words: Vec<&str> = above
        .map(|line| line.trim_start().trim_start_matches('/').trim())
        .collect();
    words.reverse();
    linkless(&words.join(" "))
}

/// Without the brackets by which comments refer to other items.
fn linkless(text: &str) -> String {
    text.replace("[`", "`")
        .replace("`]", "`")
        .replace('|', "\\|")
}

/// `OverShare` as `over_share`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// The variants of an enum of a source, each with its comment. Fields of a variant are not looked at.
pub(super) fn variants(source: &str, name: &str) -> Vec<(String, String)> {
    let (_, rest) = source
        .split_once(&format!("pub enum {name} {{\n"))
        .expect("the enum is there");
    let body = rest.split("\n}").next().expect("it ends");
    let lines: Vec<&str> = body.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(inner) = line.strip_prefix("    ") else {
            continue;
        };
        if inner.starts_with(|c: char| c.is_ascii_uppercase()) {
            let end = inner
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(inner.len());
            found.push((inner[..end].to_owned(), comment(&lines[..at])));
        }
    }
    found
}
