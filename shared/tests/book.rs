//! The book: its pages that are made of the code, and the policies and questions that it shows.

mod api;
mod errors;
mod fits;
mod json_schema;
mod limits;
mod metrics;
mod policy;
mod schema;
mod snippets;
mod source;

use std::fs;
use std::path::PathBuf;

use weir_shared::openapi;

use crate::repository::root;

/// Writes the pages instead of comparing them, where it is set.
const WRITE: &str = "WEIR_WRITE_BOOK";

/// How to bring them up to date.
const COMMAND: &str =
    "WEIR_WRITE_BOOK=1 cargo test -p weir-shared --test promises book::every_page";

/// What every page that is made says of itself, where only its editors see it.
const NOTICE: &str = "<!-- Made of the code: see CONTRIBUTING.md. -->\n\n";

fn sources() -> PathBuf {
    root().join("docs/src")
}

#[test]
fn every_page_that_is_made_of_the_code_is_up_to_date() {
    let pages = [
        ("api", api::page()),
        ("errors", errors::page()),
        ("limits", limits::page()),
        ("metrics", metrics::page()),
        ("policy", policy::page()),
    ];
    let documents = [
        (
            "openapi",
            openapi::document().expect("the forms are well written"),
        ),
        ("policy.schema", json_schema::schema()),
    ];
    let pages = pages.map(|(name, text)| (format!("{name}.md"), format!("{NOTICE}{text}")));
    let documents = documents.map(|(name, value)| (format!("{name}.json"), format!("{value:#}\n")));
    for (name, made) in pages.into_iter().chain(documents) {
        let path = sources().join("reference").join(&name);
        if std::env::var_os(WRITE).is_some() {
            fs::write(&path, made).expect("the page is written");
            continue;
        }
        let there = fs::read_to_string(&path).unwrap_or_default();
        let differs = made
            .lines()
            .zip(there.lines())
            .find(|(one, other)| one != other);
        assert!(
            made == there,
            "reference/{name} is stale ({differs:?}); bring it up to date by\n{COMMAND}"
        );
    }
}
