//! The fields of an overload resource, which depend on its steering.

use serde_json::Value;

use super::fields::{Field, Kind, SHADOW, field};

const STEERING: Field = field(
    "steering",
    "Steering",
    Kind::Choice(&[
        ("", "fair rate (by default)"),
        ("fair_rate", "fair rate: clients share what keeps it busy"),
        ("blue", "BLUE: probabilities that follow failures"),
    ]),
    "The rule that denies clients while the resource fails.",
);
const SHAPE: [Field; 3] = [
    field(
        "buckets",
        "Buckets",
        Kind::Whole("cells"),
        "Cells of each level; 1,000 by default.",
    ),
    field(
        "levels",
        "Levels",
        Kind::Whole("levels"),
        "Levels of the sketch in which clients are counted; 3 by default. Leave it empty where clients are given.",
    ),
    field(
        "clients",
        "Clients",
        Kind::Whole("clients"),
        "How many clients are expected: the levels are computed from it. Leave it empty where levels are given.",
    ),
];
const ROTATION: Field = field(
    "rotate_ms",
    "Rotation",
    Kind::Duration,
    "How often clients move to other buckets; 5 min by default.",
);
const SLOTS: Field = field(
    "slots",
    "Slots",
    Kind::Whole("requests"),
    "Requests of routes at a time from each isolate; unlimited when empty.",
);
const BLUE: [Field; 4] = [
    field(
        "final",
        "Of the levels counts",
        Kind::Choice(&[
            ("", "the least (by default)"),
            ("min", "the least"),
            ("mean", "the mean"),
        ]),
        "How the probabilities of a client's cells become one.",
    ),
    field(
        "increase",
        "Increase",
        Kind::Number("a failure"),
        "By how much a failure raises a probability; 0.04 by default.",
    ),
    field(
        "decrease",
        "Decrease",
        Kind::Number("a success"),
        "By how much a success lowers it; 0.00004 by default.",
    ),
    field(
        "decay_per_s",
        "Decay",
        Kind::Number("per s"),
        "At what rate it falls by itself; 0.01 by default.",
    ),
];

/// The fields. Those of BLUE are there while it steers, or while the resource says something of them.
pub fn fields(resource: &Value) -> Vec<Field> {
    let blue = resource.get("steering").and_then(Value::as_str) == Some("blue");
    let said = |field: &Field| {
        resource
            .get(field.name)
            .is_some_and(|value| !value.is_null())
    };
    let mut fields = vec![STEERING];
    fields.extend(SHAPE);
    fields.extend([ROTATION, SLOTS]);
    fields.extend(BLUE.into_iter().filter(|field| blue || said(field)));
    fields.push(SHADOW);
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_shared::wire::overload::OverloadBody;

    use super::*;

    #[test]
    fn each_resource_has_the_fields_that_its_steering_reads() {
        let names = |resource: Value| -> Vec<&str> {
            fields(&resource).iter().map(|field| field.name).collect()
        };
        assert!(!names(json!({})).contains(&"increase"));
        assert!(names(json!({ "increase": 0.1 })).contains(&"increase"));
        assert_eq!(names(json!({ "steering": "blue" })).len(), 11);
    }

    #[test]
    fn every_field_of_the_document_has_its_place_in_the_form() {
        let all = OverloadBody {
            buckets: Some(1),
            levels: Some(1),
            clients: Some(1),
            rotate_ms: Some(1),
            combine: Some(weir_shared::wire::overload::Final::Mean),
            increase: Some(weir_shared::wire::decimal::Decimal(0.1)),
            decrease: Some(weir_shared::wire::decimal::Decimal(0.1)),
            decay_per_s: Some(weir_shared::wire::decimal::Decimal(0.1)),
            steering: Some(weir_shared::wire::overload::Steering::Blue),
            slots: Some(1),
            shadow: Some(true),
        };
        let all = serde_json::to_value(all).unwrap();
        let mut names: Vec<&str> = fields(&all).iter().map(|field| field.name).collect();
        let mut written: Vec<&str> = all
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        names.sort_unstable();
        written.sort_unstable();
        assert_eq!(names, written);
    }
}
