//! Examples in other languages: what a page shows is part of a program that the tests compile or run.

use std::fs;

use weir_tests::pages::block;
use weir_tests::paths::workspace;

/// An example, by its page and its beginning, and the program that it is part of.
const EXAMPLES: [(&str, &str, &str); 10] = [
    (
        "clients/go/README.md",
        "decision, err := client.Reserve(",
        "clients/go/readme_test.go",
    ),
    (
        "clients/python/README.md",
        "with weir.reserve(",
        "clients/python/test/application.py",
    ),
    (
        "clients/python/README.md",
        "def asks(scope):",
        "clients/python/test/e2e/middleware.py",
    ),
    (
        "clients/rust/README.md",
        "let outcome = weir\n",
        "tests/src/bin/scripts/shown.rs",
    ),
    (
        "clients/rust/README.md",
        "let layer = ",
        "tests/src/bin/scripts/shown.rs",
    ),
    (
        "clients/typescript/README.md",
        "const outcome = ",
        "clients/typescript/test/application.ts",
    ),
    (
        "clients/typescript/README.md",
        "import { WeirStore } from ",
        "clients/typescript/test/e2e/express.mjs",
    ),
    (
        "clients/typescript/README.md",
        "import { WeirStore } from ",
        "clients/typescript/test/e2e/hono.mjs",
    ),
    (
        "docs/src/guides/llm-gateway.md",
        "client = OpenAI(",
        "tests/sdk/openai_python.py",
    ),
    (
        "docs/src/guides/llm-gateway.md",
        "answer = litellm.completion(",
        "tests/sdk/litellm_python.py",
    ),
];

/// What a page says of the reader's own, and how the program says it.
const OWN: [(&str, &str); 2] = [
    ("\"https://api.example.com/llm/v1\"", "BASE"),
    // One more option may follow.
    ("api_key=KEY)", "api_key=KEY"),
];

/// Code without what formatters and comments add.
fn bare(code: &str) -> String {
    let lines = code
        .lines()
        .map(|line| match line.trim().starts_with("//") {
            true => "",
            false => line.split(" // ").next().unwrap_or_default(),
        });
    let whole: String = lines.flat_map(str::split_whitespace).collect();
    whole.replace(",)", ")")
}

/// The first line of an example that does not follow in the program.
fn missing(example: &str, program: &str) -> Option<String> {
    let program = bare(program);
    let mut rest = program.as_str();
    for line in example.lines() {
        let words = bare(line);
        match rest.find(&words) {
            Some(at) => rest = &rest[at + words.len()..],
            None => return Some(line.to_owned()),
        }
    }
    None
}

#[test]
fn every_example_of_a_client_is_part_of_what_its_tests_compile_or_run() {
    for (page, beginning, program) in EXAMPLES {
        let mut shown = block(page, beginning).text;
        for (of_the_page, of_the_program) in OWN {
            shown = shown.replace(of_the_page, of_the_program);
        }
        if program.ends_with("hono.mjs") {
            // The line names the other store in its comment.
            let (import, other) = shown
                .lines()
                .next()
                .and_then(|line| line.split_once(" // or "))
                .unwrap();
            let path = import.split('"').nth(1).unwrap();
            shown = format!("{}\n", import.replace(&format!("\"{path}\""), other));
        }
        let source = fs::read_to_string(workspace().join(program)).unwrap();
        assert_eq!(
            missing(&shown, &source),
            None,
            "{page} shows what {program} has not"
        );
    }
}

/// The control.
#[test]
fn a_line_that_a_program_has_not_is_missed_and_so_is_one_in_another_order() {
    let program = "call(\n  one,\n  two,\n);\nend(); // well\n";
    assert_eq!(missing("call(one, two);\nend();", program), None);
    assert_eq!(
        missing("end();\ncall(one, two);", program).as_deref(),
        Some("call(one, two);")
    );
    assert_eq!(
        missing("call(one, three);", program).as_deref(),
        Some("call(one, three);")
    );
}
