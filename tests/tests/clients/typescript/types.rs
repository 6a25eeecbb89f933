//! The types that the client writes down, beside the document of the interface, and whoever else uses them.

use serde_json::Value;
use weir_tests::paths::workspace;
use weir_tests::workerd::Setup;

use weir_shared::ordered::OrderedSet;

use super::{Package, tsc};
use crate::clients::copy;

const ANSWERS: &str = include_str!("../../../../clients/typescript/src/answer.ts");
const QUESTIONS: &str = include_str!("../../../../clients/typescript/src/question.ts");

/// The lines of an interface, without its comments.
fn interface(name: &str) -> Vec<&'static str> {
    let begin = format!("export interface {name} {{\n");
    let (_, after) = ANSWERS.split_once(&begin).expect("an interface");
    let (body, _) = after.split_once("\n}").expect("its end");
    let lines = body.lines().map(str::trim);
    lines.filter(|line| !line.starts_with("/**")).collect()
}

fn names(schema: &Value, of: &str) -> OrderedSet<String> {
    let properties = schema[of]["properties"].as_object();
    let properties = properties.unwrap_or_else(|| panic!("no {of}"));
    properties.keys().cloned().collect()
}

#[tokio::test]
async fn they_name_every_field_and_reason_that_the_interface_has_and_no_other() {
    let workerd = Setup::isolates(&["weur"]).start().await.unwrap();
    let client = workerd.client(0).unwrap();
    let document: Value = client.get("/openapi.json").await.unwrap().ok().unwrap();
    let schemas = &document["components"]["schemas"];
    for (of, name) in [
        ("Decision", "Decision"),
        ("ReserveReply", "Place"),
        ("SettleReply", "Settled"),
        ("SlotReply", "SlotState"),
    ] {
        let required = schemas[of]["required"].as_array().unwrap();
        let written = |field: &String| {
            let optional = !required.contains(&Value::from(field.as_str()));
            format!("{field}{}: ", if optional { "?" } else { "" })
        };
        let mut lines = interface(name);
        // What this client adds.
        lines.retain(|line| *line != "cause?: WeirError;");
        let fields = names(schemas, of);
        for field in &fields {
            let start = written(field);
            assert!(
                lines.iter().any(|line| line.starts_with(&start)),
                "{name}: {start}"
            );
        }
        assert_eq!(lines.len(), fields.len(), "{name}: {lines:?}");
    }
    let reasons = schemas["Reason"]["enum"].as_array().unwrap();
    for reason in reasons {
        assert!(ANSWERS.contains(&format!("| {reason}\n")), "{reason}");
    }
    assert_eq!(ANSWERS.matches("\n  | \"").count(), reasons.len() + 1);
    for field in names(schemas, "CheckRequest") {
        let written = [format!(" {field}: "), format!(" {field}?: ")];
        assert!(
            written.iter().any(|text| QUESTIONS.contains(text)),
            "{field}"
        );
    }
}

#[test]
fn a_worker_that_binds_weir_compiles_by_them_and_a_question_that_asks_nothing_does_not() {
    let package = Package::built();
    let example = workspace().join("examples/service-binding/src");
    copy(&example, &package.folder().join("example")).unwrap();
    package.node(&[&tsc(), "--project", "test/binding"]);
}
