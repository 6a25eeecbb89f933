//! What a request is charged, and what it turns out to have cost.

use proptest::prelude::*;
use weir_shared::check::{Keys, Target};
use weir_shared::gateway::cost::{Settled, charge};
use weir_shared::gateway::facts::BodyLength;
use weir_shared::gateway::question::question;
use weir_shared::limits::COST_MAX;
use weir_shared::policy::route::{Cost, HeaderName};

use super::document::{Sent, get, policy};

fn header(name: &str) -> HeaderName {
    HeaderName::read(name).unwrap()
}

fn by_header(value: Option<&str>) -> Result<u64, String> {
    let headers: Vec<(&str, &str)> = value.map(|value| ("x-cost", value)).into_iter().collect();
    let cost = Cost::Header {
        name: header("X-Cost"),
        max: 100,
    };
    let charged = get("/", &headers).facts(|facts| charge(&cost, facts, None));
    charged
        .map(|charged| charged.units)
        .map_err(|refused| refused.field)
}

#[test]
fn a_cost_in_a_header_counts_from_one_to_its_bound_and_nonsense_is_refused() {
    for (value, units) in [
        (None, 1),
        (Some(""), 1),
        (Some("0"), 1),
        (Some("7"), 7),
        (Some(" 7 "), 7),
        (Some("007"), 7),
        (Some("100"), 100),
        (Some("101"), 100),
        (Some("99999999999999999999999999"), 100),
    ] {
        assert_eq!(by_header(value), Ok(units), "{value:?}");
    }
    for value in ["-1", "+1", "1.5", "1e3", "0x10", "7, 9", "many", "٣", "1 2"] {
        assert_eq!(
            by_header(Some(value)),
            Err("/headers/x-cost".to_owned()),
            "{value}"
        );
    }
}

#[test]
fn a_body_costs_its_bytes_and_one_of_unknown_length_its_reservation_until_it_was_counted() {
    let cost = Cost::BodyBytes {
        per: 1_000,
        reserve: 64,
    };
    for (body, units, settles) in [
        (BodyLength::None, 0, false),
        (BodyLength::Known(0), 0, false),
        (BodyLength::Known(1), 1, false),
        (BodyLength::Known(1_000), 1, false),
        (BodyLength::Known(1_001), 2, false),
        (
            BodyLength::Known(u64::MAX),
            u64::MAX.div_ceil(1_000).min(COST_MAX),
            false,
        ),
        (BodyLength::Unknown, 64, true),
    ] {
        let sent = Sent {
            body,
            ..get("/", &[])
        };
        let charged = sent.facts(|facts| charge(&cost, facts, None)).unwrap();
        assert_eq!(
            (charged.units, charged.settled.is_some()),
            (units, settles),
            "{body:?}"
        );
    }
}

#[test]
fn what_an_answer_does_not_say_stays_charged_as_it_was_reserved() {
    let settled = Settled::ResponseHeader(header("x-tokens-used"));
    let actual = |value: Option<&str>| {
        settled.actual(5, &|name| {
            assert_eq!(name, "x-tokens-used");
            value.map(str::to_owned)
        })
    };
    for (value, units) in [
        (None, None),
        (Some("0"), Some(0)),
        (Some(" 900 "), Some(900)),
        (Some("nine"), None),
        (Some("-3"), None),
        (Some(""), None),
        (Some("18446744073709551616"), Some(COST_MAX)),
    ] {
        assert_eq!(actual(value), units, "{value:?}");
    }
    let bytes = Settled::BodyBytes { per: 10 };
    assert_eq!(bytes.actual(0, &|_| None), Some(0));
    assert_eq!(bytes.actual(101, &|_| None), Some(11));
}

#[test]
fn a_route_asks_for_all_that_it_charges_in_its_order() {
    let policy = policy();
    let headers = [("x-user", "ann"), ("x-cost", "9")];
    let sent = Sent {
        body: BodyLength::Unknown,
        ..get("/llm", &headers)
    };
    let client = "203.0.113.9".parse().ok();
    let asked =
        sent.facts(|facts| question(&policy.routes[0], facts, None, Some("org:acme"), client));
    let asked = asked.unwrap();
    assert_eq!(asked.check.tenant.as_deref(), Some("org:acme"));
    assert!(!asked.check.reserve);
    let costs: Vec<u64> = asked.check.items.iter().map(|item| item.cost).collect();
    assert_eq!(costs, [1_000, 1, 0, 1, 1, 1, 1, 65_536, 9]);
    let places: Vec<usize> = asked.settled.iter().map(|(at, _)| *at).collect();
    assert_eq!(places, [0, 7]);
    assert_eq!(asked.settled[1].1, Settled::BodyBytes { per: 1 });
    let targets: Vec<&Target> = asked.check.items.iter().map(|item| &item.target).collect();
    let limit = |name: &str, keys| Target::Limit {
        name: name.to_owned(),
        keys,
    };
    let one = |key: &str| Keys::One(key.to_owned());
    let named = [("ip", "203.0.113.9"), ("user", "ann")];
    let named = named.map(|(name, key)| (name.to_owned(), key.to_owned()));
    assert_eq!(
        targets,
        [
            &Target::Budget("tokens".to_owned()),
            &limit("per_ip", one("203.0.113.9")),
            &limit("per_ip", one("all")),
            &limit("own", Keys::None),
            &limit("login", Keys::Named(named.into())),
            &limit("nearby", one("org:acme")),
            &Target::Guard("queries".to_owned()),
            &Target::Meter {
                name: "bytes".to_owned(),
                among: false
            },
            &Target::Overload("origin".to_owned()),
        ]
    );
    assert_eq!(asked.check.items[8].name_at(), "/checks/8/overload");
}

#[test]
fn a_key_that_the_request_does_not_say_is_refused_and_an_unknown_address_is_one_key() {
    let policy = policy();
    let nobody = &policy.routes[7];
    let ask = |headers: &[(&str, &str)]| {
        get("/nobody", headers).facts(|facts| question(nobody, facts, None, None, None))
    };
    let long = "x".repeat(129);
    for headers in [&[][..], &[("x-key", " ")], &[("x-key", &long[..])]] {
        let refused = ask(headers).unwrap_err();
        assert_eq!(
            (refused.status, refused.field.as_deref()),
            (400, Some("/headers/x-key"))
        );
    }
    assert!(ask(&[("x-key", &long[1..])]).is_ok());
    let sent = get("/llm", &[("x-user", "ann")]);
    let asked =
        sent.facts(|facts| question(&policy.routes[0], facts, None, Some("org:acme"), None));
    let Target::Limit { keys, .. } = &asked.unwrap().check.items[1].target else {
        panic!("no limit");
    };
    assert_eq!(*keys, Keys::One("unknown".to_owned()));
}

proptest! {
    #[test]
    fn whatever_a_request_says_its_cost_is_within_its_bounds(
        value in "[0-9a-f+. -]{0,30}", max in 1..=COST_MAX, bytes in any::<u64>(), per in 1_u64..,
    ) {
        let headers = [("x-cost", value.as_str())];
        let sent = Sent { body: BodyLength::Known(bytes), ..get("/", &headers) };
        sent.facts(|facts| {
            let cost = Cost::Header { name: header("x-cost"), max };
            if let Ok(charged) = charge(&cost, facts, None) {
                prop_assert!((1..=max).contains(&charged.units));
            }
            let cost = Cost::BodyBytes { per, reserve: 1 };
            let units = charge(&cost, facts, None).unwrap().units;
            prop_assert!(units <= COST_MAX);
            let whole = u128::from(units) * u128::from(per) >= u128::from(bytes);
            prop_assert!(units == COST_MAX || whole, "no byte is free");
            Ok(())
        })?;
    }
}
