//! What is read out of the sources: comments of items are what a page says of them.

/// Where the rows are that several sections have.
const CHANGES: &str = include_str!("../../wire/src/changes.rs");

/// A field of a struct, or a variant of an enum.
pub(super) struct Member {
    /// As it is written on the wire.
    pub(super) name: String,
    /// The type of a field, or of what a variant holds.
    pub(super) holds: Option<String>,
    /// Its comment.
    pub(super) says: String,
}

/// The comment above a line, without the attributes between the two: its words, up to an example.
pub(super) fn comment(lines: &[&str]) -> String {
    let is_comment = |line: &&&str| line.trim_start().starts_with("///");
    let above = lines
        .iter()
        .rev()
        .skip_while(|line| !is_comment(line) && !line.trim().is_empty());
    let mut words: Vec<&str> = above
        .take_while(is_comment)
        .map(|line| line.trim_start().trim_start_matches('/').trim())
        .collect();
    words.reverse();
    let told = words
        .into_iter()
        .take_while(|word| !word.starts_with("```"));
    linkless(told.collect::<Vec<_>>().join(" ").trim())
}

/// Without the brackets by which comments refer to other items.
fn linkless(text: &str) -> String {
    text.replace("[`", "`")
        .replace("`]", "`")
        .replace('|', "\\|")
}

/// `OverShare` as `over_share`.
pub(super) fn snake(name: &str) -> String {
    // The name of a company is one word.
    let name = name.replace("OpenAi", "Openai");
    let mut snake = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

/// What an item of a source is: its kind, its comment, and the lines of its body.
fn item<'a>(source: &'a str, kind: &str, name: &str) -> Option<(String, Vec<&'a str>)> {
    let head = format!("\npub {kind} {name} {{");
    let (before, rest) = source.split_once(&head)?;
    let body = rest.split_once("\n}").map_or("", |(body, _)| body);
    // An item without members closes where it opens.
    let body = if rest.starts_with('}') { "" } else { body };
    let above: Vec<&str> = before.lines().collect();
    Some((comment(&above), body.lines().collect()))
}

/// The fields of a struct, with its own comment.
pub(super) fn fields(source: &str, name: &str) -> Option<(String, Vec<Member>)> {
    let (says, lines) = item(source, "struct", name)?;
    let lines: Vec<&str> = lines.into_iter().flat_map(with_changes).collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some((name, form)) = line
            .trim_start()
            .strip_prefix("pub ")
            .and_then(|field| field.split_once(": "))
        {
            // A row says after its name what it is on the wire, if that is another word.
            let word = name.split_once(" as \"").map(|(_, word)| word);
            found.push(Member {
                name: word.unwrap_or(name).trim_end_matches('"').to_owned(),
                // It says more of the field behind its type.
                holds: form
                    .trim_end_matches(',')
                    .split(" = ")
                    .next()
                    .map(str::to_owned),
                says: comment(&lines[..at]),
            });
        }
    }
    Some((says, found))
}

/// A line of a section; in the place of one that stands for the rows of changes, these.
fn with_changes(line: &str) -> Vec<&str> {
    if line.trim() != "...Changes;" {
        return vec![line];
    }
    let (_, rows) = CHANGES
        .split_once("macro_rules! changes {")
        .expect("the rows of changes are there");
    let rows = rows.split_once("\n}").map_or(rows, |(rows, _)| rows);
    rows.lines().collect()
}

/// The variants of an enum, with its own comment. Fields of a variant that has names are not looked at.
pub(super) fn variants(source: &str, name: &str) -> Option<(String, Vec<Member>)> {
    let (says, lines) = item(source, "enum", name)?;
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(inner) = line.strip_prefix("    ") else {
            continue;
        };
        if inner.starts_with(|c: char| c.is_ascii_uppercase()) {
            let end = inner
                .find(|c: char| !c.is_ascii_alphanumeric())
                .unwrap_or(inner.len());
            let held = inner[end..]
                .strip_prefix('(')
                .and_then(|rest| rest.split_once(')'));
            found.push(Member {
                name: inner[..end].to_owned(),
                holds: held.map(|(form, _)| form.to_owned()),
                says: comment(&lines[..at]),
            });
        }
    }
    Some((says, found))
}
