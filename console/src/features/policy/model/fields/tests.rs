//! Tests: The fields of forms: what each is called, what it takes, and how what was typed becomes JSON.

use serde_json::json;

use weir_shared::ordered::OrderedSet;

use super::*;

#[test]
fn what_is_typed_becomes_json() {
    for (kind, text, value) in [
        (Kind::Whole("units"), "30,000", Some(json!(30_000))),
        (Kind::Whole("units"), " 30 000 ", Some(json!(30_000))),
        (Kind::Whole("units"), "", None),
        (Kind::Whole("units"), "many", Some(json!("many"))),
        (Kind::Whole("units"), "-1", Some(json!(-1))),
        (Kind::Number("s"), "0.5", Some(json!(0.5))),
        (Kind::Number("s"), "4.0", Some(json!(4))),
        (Kind::Number("s"), "inf", Some(json!("inf"))),
        (Kind::Number("s"), "1e3", Some(json!(1_000))),
        (
            Kind::OrUnlimited("calls"),
            "unlimited",
            Some(json!("unlimited")),
        ),
        (Kind::OrUnlimited("calls"), "4", Some(json!(4))),
        (Kind::Choice(&[]), "paced", Some(json!("paced"))),
        (Kind::Choice(&[]), "", None),
        (Kind::Flag(false), "true", Some(json!(true))),
        (Kind::Flag(true), "false", Some(json!(false))),
        (Kind::Names, "GET, POST,", Some(json!(["GET", "POST"]))),
        (Kind::Names, " , ", None),
        (Kind::Dimensions, "", Some(json!(""))),
        (Kind::Dimensions, "ip, login", Some(json!(["ip", "login"]))),
        (Kind::Dimensions, "ip *", Some(json!("ip *"))),
        (Kind::Dimensions, "[\"ip\"]", Some(json!(["ip"]))),
        (Kind::Text, "5", Some(json!("5"))),
        (Kind::Text, "", None),
        (Kind::DecidingText, "5", Some(json!("5"))),
        (Kind::DecidingText, " ", Some(json!(""))),
    ] {
        assert_eq!(typed(kind, text), value, "{kind:?} {text:?}");
    }
}

#[test]
fn what_is_shown_and_typed_again_is_the_same_value() {
    for (kind, value) in [
        (Kind::Whole("units"), json!(30_000)),
        (Kind::Number("s"), json!(0.25)),
        (Kind::OrUnlimited("calls"), json!("unlimited")),
        (Kind::Choice(&[]), json!("global")),
        (Kind::Names, json!(["GET", "POST"])),
        (
            Kind::Dimensions,
            json!(["ip", { "limit": "login", "weight": 2 }]),
        ),
        (Kind::Dimensions, json!([{ "limit": "ip" }, 5])),
        (Kind::Dimensions, json!([])),
        (Kind::Dimensions, json!("[\"ip")),
        (Kind::Dimensions, json!("")),
        (Kind::DecidingText, json!("")),
        (Kind::DecidingText, json!("x-user")),
        (Kind::Flag(false), json!(true)),
    ] {
        let shown = control(kind, Some(&value));
        assert_eq!(typed(kind, &shown), Some(value), "{kind:?}");
    }
    assert_eq!(control(Kind::Flag(true), None), "true");
    assert_eq!(control(Kind::Duration, Some(&Value::Null)), "");
}

#[test]
fn durations_are_typed_with_their_unit_and_shown_so() {
    for (text, value) in [
        ("1 min", Some(json!(60_000))),
        ("25000", Some(json!(25_000))),
        ("0.05", Some(json!(0.05))),
        ("1 mi", Some(json!("1 mi"))),
        ("", None),
    ] {
        assert_eq!(typed(Kind::Duration, text), value, "{text}");
    }
    assert_eq!(control(Kind::Duration, Some(&json!(90_000))), "90 s");
    assert_eq!(control(Kind::Duration, Some(&json!("1 mi"))), "1 mi");
    assert_eq!(
        (unit(Kind::Duration), unit(Kind::Number("units/s"))),
        ("", "units/s")
    );
}

fn scope_field() -> Field {
    let found = BUDGET.iter().find(|field| field.name == "scope");
    *found.unwrap()
}

#[test]
fn only_pairs_of_sharing_and_scope_that_are_served_are_offered() {
    let scopes = |sharing: &str| -> Vec<&str> {
        let entry = json!({ "sharing": sharing, "scope": "region", "limit": "typed by half" });
        let offered = offered(Section::Budgets, &scope_field(), &entry);
        offered.into_iter().map(|(value, _)| value).collect()
    };
    assert_eq!(scopes("fair_share"), ["isolate", "region"]);
    assert_eq!(scopes("static_partition"), ["global"]);
    assert!(scopes("weighted_fair_escrow").contains(&"global"));
    let limit = offered(Section::Limits, &scope_field(), &json!({}));
    assert_eq!(limit.len(), 3, "limits have their own rules");
}

#[test]
fn with_another_sharing_goes_what_is_not_served_with_it() {
    let entry = json!({
        "limit": 9, "sharing": "weighted_fair_escrow", "scope": "global", "reserve": "paced", "outage": "regional_only",
    });
    let fair = shared_by(&entry, "fair_share");
    assert_eq!(
        fair,
        json!({ "limit": 9, "sharing": "fair_share", "scope": "region" })
    );
    let same = shared_by(&entry, "weighted_fair_escrow");
    assert_eq!(same, entry);
}

/// The fields that the OpenAPI document says a form has.
fn documented(form: &str) -> OrderedSet<String> {
    let document = weir_shared::openapi::document().unwrap();
    let fields = &document["components"]["schemas"][form]["properties"];
    fields.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn a_form_has_every_field_that_the_document_says() {
    for (form, section) in [
        ("Budget", Section::Budgets),
        ("Meter", Section::Meters),
        ("Guard", Section::Guards),
    ] {
        let shown = fields(section, &json!({})).into_iter();
        // `lease/min` is a part of `lease`.
        let names = shown.filter_map(|field| field.name.split('/').next());
        let shown: OrderedSet<_> = names.map(str::to_owned).collect();
        assert_eq!(shown, documented(form), "{form}");
    }
}
