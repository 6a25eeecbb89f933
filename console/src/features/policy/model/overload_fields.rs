//! The fields of an overload resource, which depend on its steering.

use serde_json::Value;

use super::fields::{Field, Kind, SHADOW, field};

const STEERING: Field = field(
    "steering",
    "Steering",
    Kind::Choice(&[
        ("", "fair rate (by default)"),
        (
            "fair_rate",
            "fair rate: each client gets its share of what the resource serves",
        ),
        (
            "blue",
            "BLUE: each client is denied with a probability that rises with its failures",
        ),
    ]),
    "How clients are denied while requests to the resource fail.",
);
const SHAPE: [Field; 3] = [
    field(
        "buckets",
        "Buckets",
        Kind::Whole("per level"),
        "1,000 by default. With more, fewer clients share a bucket by chance.",
    ),
    field(
        "levels",
        "Levels",
        Kind::Whole("levels"),
        "Each client has one bucket in every level; 3 by default. Set either levels or expected clients.",
    ),
    field(
        "clients",
        "Expected clients",
        Kind::Whole("clients"),
        "Levels are computed for this many clients. Set either expected clients or levels.",
    ),
];
const ROTATION: Field = field(
    "rotate_ms",
    "Rotation period",
    Kind::Duration,
    "How often clients move to other buckets: 10 s to 1 h; 5 min by default.",
);
const SLOTS: Field = field(
    "slots",
    "Slots",
    Kind::Whole("requests"),
    "Concurrent requests to the resource through routes, per isolate; unlimited when empty.",
);
const BLUE: [Field; 4] = [
    field(
        "final",
        "Combine levels by",
        Kind::Choice(&[
            ("", "minimum (by default)"),
            ("min", "minimum"),
            ("mean", "mean"),
        ]),
        "Each level gives a client a denial probability. The minimum or the mean of them applies.",
    ),
    field(
        "increase",
        "Increase",
        Kind::Number("per failure"),
        "Added to the denial probability by each failure: above 0, at most 1; 0.04 by default.",
    ),
    field(
        "decrease",
        "Decrease",
        Kind::Number("per success"),
        "Taken off the denial probability by each success: less than the increase; 0.00004 by default.",
    ),
    field(
        "decay_per_s",
        "Decay",
        Kind::Number("per second"),
        "How fast a denial probability falls over time: 0 to 100; 0.01 by default, which halves it in 69 s.",
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
