//! Commands of wrangler need an account: that wrangler has each of them, with each of its flags, its own help says.

use weir_shared::ordered::OrderedMap;
use weir_tests::pages::blocks;
use weir_tests::wrangler;

/// Words before the first that is a value of the reader's: `secret put`, `versions upload`.
fn command(words: &[&str]) -> Vec<String> {
    let plain = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    words
        .iter()
        .take_while(plain)
        .map(|word| (*word).to_owned())
        .collect()
}

/// What wrangler says of a command.
fn help(command: &[String]) -> String {
    let mut help = wrangler::command().unwrap();
    let output = help.args(command).arg("--help").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let title = format!("wrangler {}", command.join(" "));
    assert!(said.contains(&title), "{title}: {said}");
    said
}

#[test]
fn wrangler_has_every_command_and_flag_that_a_page_names() {
    let mut known: OrderedMap<String, String> = OrderedMap::default();
    for block in blocks().into_iter().filter(|block| block.language == "sh") {
        for line in block.commands() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (["npx", "wrangler", words @ ..] | ["wrangler", words @ ..]) = &words[..] else {
                continue;
            };
            let command = command(words);
            let said = known
                .entry(command.join(" "))
                .or_insert_with(|| help(&command));
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                let place = block.place();
                assert!(
                    said.contains(flag),
                    "{place}: {line}: wrangler has no {flag}"
                );
            }
        }
    }
    let named: Vec<&str> = known.keys().map(String::as_str).collect();
    let expected = [
        "deploy",
        "rollback",
        "secret put",
        "versions deploy",
        "versions upload",
    ];
    assert_eq!(named, expected, "what the pages name");
}
