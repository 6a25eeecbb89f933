//! The page of bounds.

use crate::book::source::comment;

const HEAD: &str = "\
# Limits

This page has every bound of Weir, with its reason. Weir keeps, counts and waits for nothing from outside beyond these. A request
that exceeds one is refused with the field that is at fault. Names and values are those of the code (`shared/core/src/limits`), so
`64 * 1024` is 65,536.
";

/// A part of the page, and the source that it is read from.
const PARTS: [(&str, &str); 10] = [
    (
        "Requests, policies and leases",
        include_str!("../../core/src/limits.rs"),
    ),
    ("Sharing", include_str!("../../core/src/limits/sharing.rs")),
    (
        "Branches",
        include_str!("../../core/src/limits/branches.rs"),
    ),
    ("Keys", include_str!("../../core/src/limits/keys.rs")),
    (
        "Overload",
        include_str!("../../core/src/limits/overload.rs"),
    ),
    ("Gateway", include_str!("../../core/src/limits/gateway.rs")),
    (
        "Counters and records",
        include_str!("../../core/src/limits/accounting.rs"),
    ),
    ("Agents", include_str!("../../core/src/limits/agent.rs")),
    (
        "Operators",
        include_str!("../../core/src/limits/operator.rs"),
    ),
    ("Traces", include_str!("../../core/src/limits/trace.rs")),
];

pub(super) fn page() -> String {
    let mut text = HEAD.to_owned();
    for (title, source) in PARTS {
        text.push_str(&format!(
            "\n## {title}\n\n| name | value | why |\n| --- | --- | --- |\n"
        ));
        let lines: Vec<&str> = source.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(constant) = line.strip_prefix("pub const ") else {
                continue;
            };
            let (name, value) = named(constant, &lines[at + 1..]);
            let why = comment(&lines[..at]);
            text.push_str(&format!("| `{name}` | `{value}` | {why} |\n"));
        }
    }
    text
}

/// `NAME: u64 = 3;` as its name and value, which may go on in the lines that follow.
fn named(constant: &str, following: &[&str]) -> (String, String) {
    let mut whole = constant.to_owned();
    let mut rest = following.iter();
    while !whole.ends_with(';') {
        let more = rest.next().expect("a constant ends");
        whole.push_str(&format!(" {}", more.trim()));
    }
    let (name, rest) = whole.split_once(':').expect("a constant has a type");
    let (_, value) = rest.split_once('=').expect("a constant has a value");
    (
        name.to_owned(),
        value.trim_end_matches(';').trim().to_owned(),
    )
}
