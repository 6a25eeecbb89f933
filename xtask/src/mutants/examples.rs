//! The examples of the documentation as tests of one program: they are part of what is promised, and `cargo test --doc` has
//! no program that can be asked for one of them.

use std::fmt::Write;

/// What the manifest of the copy gets, so that the program is built.
pub(super) const TARGET: &str = "\n[[test]]\nname = \"examples\"\npath = \"tests/examples.rs\"\n";

/// The program, of the sources of the crate and their paths.
pub(super) fn program<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut program = String::new();
    for (path, source) in sources {
        for (line, code) in examples(source) {
            let name = name(path, line);
            let code = if code.trim_end().ends_with("(())") {
                // The last line says of what kind the error is: as rustdoc does it.
                format!(
                    "fn inner() -> Result<(), impl std::fmt::Debug> {{\n{code}}}\ninner().unwrap();\n"
                )
            } else {
                code
            };
            let _ = write!(program, "#[test]\nfn {name}() {{\n{code}}}\n\n");
        }
    }
    program
}

/// Of its file and its line: `node_lease_ask_12`.
fn name(path: &str, line: usize) -> String {
    let path = path.trim_start_matches("shared/").replace("/src/", "/");
    let path = path.trim_end_matches(".rs").trim_end_matches("/lib");
    format!(
        "example_{}_{line}",
        path.replace(|sign: char| !sign.is_alphanumeric(), "_")
    )
}

/// The lines at which examples that are run begin, from 1, and their code.
fn examples(source: &str) -> Vec<(usize, String)> {
    let mut examples = Vec::new();
    let mut open: Option<(usize, bool, String)> = None;
    for (number, line) in (1..).zip(source.lines()) {
        let Some(text) = documentation(line) else {
            open = None;
            continue;
        };
        let fence = text.trim_start().strip_prefix("```");
        open = match (open, fence) {
            (None, Some(kind)) => Some((number, is_run(kind), String::new())),
            (None, None) => None,
            (Some((start, is_run, code)), Some(_)) => {
                if is_run {
                    examples.push((start, code));
                }
                None
            }
            (Some((start, is_run, code)), None) => Some((start, is_run, code + shown(text) + "\n")),
        };
    }
    examples
}

/// What a line of documentation says.
fn documentation(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line
        .strip_prefix("///")
        .or_else(|| line.strip_prefix("//!"))?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

fn is_run(kind: &str) -> bool {
    matches!(kind.trim(), "" | "rust")
}

/// A line that is not shown to readers is run.
fn shown(line: &str) -> &str {
    match line.trim_start() {
        "#" => "",
        text => text.strip_prefix("# ").unwrap_or(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_example_is_a_test_named_by_its_place() {
        let source = "//! One.\n//!\n//! ```\n//! # use a::b;\n//! assert!(b());\n//! ```\n\n\
                      /// ```text\n/// no code\n/// ```\n/// ```\n/// c()?;\n/// # Ok::<(), E>(())\n/// ```\nfn c() {}\n";
        let program = program([("shared/node/src/lib.rs", source)].into_iter());
        let due = "#[test]\nfn example_node_3() {\nuse a::b;\nassert!(b());\n}\n\n\
                   #[test]\nfn example_node_11() {\nfn inner() -> Result<(), impl std::fmt::Debug> {\nc()?;\n\
                   Ok::<(), E>(())\n}\ninner().unwrap();\n}\n\n";
        assert_eq!(program, due);
        assert!(syn::parse_file(&program).is_ok());
    }
}
