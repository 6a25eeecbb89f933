//! The names that the client writes down, beside the document of the interface.

use serde_json::Value;

use weir_shared::ordered::{OrderedMap, OrderedSet};

use super::{Deployed, Scripts, run};

fn texts(list: &Value) -> OrderedSet<&str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|one| one.as_str().expect("a text"))
        .collect()
}

/// Of the script `interface`, which tells the names of a client.
pub(super) async fn names_are_those_of_the_interface_and_no_others(subject: &dyn Scripts) {
    let (deployed, told) = run(subject, "interface", Deployed::start).await;
    let document = deployed.client.get("/openapi.json").await.unwrap();
    let document: Value = document.ok().unwrap();
    let schemas = &document["components"]["schemas"];
    for name in ["Decision", "ReserveReply", "SettleReply", "SlotReply"] {
        let required = texts(&schemas[name]["required"]);
        let fields = schemas[name]["properties"].as_object().unwrap();
        let fields: OrderedMap<_, _> = fields
            .keys()
            .map(|field| (field.as_str(), required.contains(field.as_str())))
            .collect();
        let written = told[name].as_object().unwrap();
        let written: OrderedMap<_, _> = written
            .iter()
            .map(|(field, always)| (field.as_str(), always.as_bool().unwrap()))
            .collect();
        assert_eq!(written, fields, "{name}");
    }
    let mut reasons = texts(&schemas["Reason"]["enum"]);
    reasons.insert("unreachable");
    assert_eq!(texts(&told["Reason"]), reasons);
    for name in ["CheckRequest", "ReserveRequest"] {
        // A client whose questions are made by functions has tests of its own of their words.
        if told.get(name).is_none() {
            continue;
        }
        let fields = schemas[name]["properties"].as_object().unwrap();
        let fields: OrderedSet<_> = fields.keys().map(String::as_str).collect();
        assert_eq!(texts(&told[name]), fields, "{name}");
    }
}
