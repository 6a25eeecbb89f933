//! JSON laid out for people. To have it written so by `serde_json` would be one more writer of every form in the policy, and
//! the console is what a browser has to load; forms are read and written by `weir_shared::json` alone.

/// JSON text without spaces, with a line for each field and entry; empty lists and objects stay on theirs.
pub fn pretty(text: &str) -> String {
    let mut lines = String::with_capacity(text.len() * 2);
    let mut depth: usize = 0;
    let mut quoted = false;
    let mut escaped = false;
    let mut before = ' ';
    for sign in text.chars() {
        if quoted {
            lines.push(sign);
            quoted = escaped || sign != '"';
            escaped = sign == '\\' && !escaped;
            before = sign;
            continue;
        }
        match sign {
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let empty = matches!((before, sign), ('{', '}') | ('[', ']'));
        if !empty && (matches!(before, '{' | '[' | ',') || matches!(sign, '}' | ']')) {
            break_line(&mut lines, line_depth(depth, sign));
        }
        lines.push(sign);
        if sign == ':' {
            lines.push(' ');
        }
        quoted = sign == '"';
        before = sign;
    }
    lines
}

/// How far in a line stands that begins with a sign: what opens there counts for the lines after it.
fn line_depth(depth: usize, sign: char) -> usize {
    depth - usize::from(matches!(sign, '{' | '[') && depth > 0)
}

fn break_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    for _ in 0..depth {
        lines.push_str("  ");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use weir_shared::wire::policy::PolicyDocument;

    use super::*;

    #[test]
    fn text_is_laid_out_as_the_usual_writer_does() {
        let cases = [
            json!(null),
            json!("a \"{[,:]}\" \\"),
            json!("ends in a backslash \\"),
            json!([]),
            json!({}),
            json!([1, [], {}, [2, [3]], { "a": {}, "b": [[]] }]),
            json!({ "a": { "b": [1, "x,y", { "c": null }] }, "d\"": -1.5, "e": { "f": { "g": [] } } }),
        ];
        for value in cases {
            let usual = serde_json::to_string_pretty(&value).unwrap();
            assert_eq!(pretty(&value.to_string()), usual);
        }
    }

    #[test]
    fn the_shipped_policy_keeps_its_order_and_is_read_back() {
        let text = include_str!("../../policy.json");
        let document: PolicyDocument = serde_json::from_str(text).unwrap();
        let written = pretty(&serde_json::to_string(&document).unwrap());
        assert_eq!(written, serde_json::to_string_pretty(&document).unwrap());
        let value: Value = serde_json::from_str(&written).unwrap();
        let read = weir_shared::json::from_value::<PolicyDocument>(&value);
        assert_eq!(read.unwrap(), document);
    }
}
