//! Paths, routing, queries, percent-encoding.

use std::sync::LazyLock;

use serde_json::Value;
use weir_shared::access::endpoint::{self, ROUTES};
use weir_shared::access::own_path::is_own;
use weir_shared::gateway::facts::{BodyLength, Facts};
use weir_shared::gateway::path::RequestPath;
use weir_shared::gateway::question::question;
use weir_shared::gateway::router::{Router, To};
use weir_shared::gateway::{address, models, tenant};
use weir_shared::invalid::read_json;
use weir_shared::limits::COST_MAX;
use weir_shared::percent::decoded;
use weir_shared::policy::Policy;
use weir_shared::policy::network::Cidr;
use weir_shared::policy::route::OriginUrl;
use weir_shared::query::Query;
use weir_shared::units::EpochMs;

use super::{lanes, requests};
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "path" => path,
    "routing" => routing,
    "own route" => own_route,
    "query" => query,
    "origin" => origin,
    "network" => network,
};

/// The policy that says all that can be said of the gateway: the longest of the corpus.
static POLICY: LazyLock<Option<Policy>> = LazyLock::new(|| {
    let corpus = include_str!("../../corpus/policy.txt");
    let text = corpus.lines().max_by_key(|line| line.len())?;
    Policy::try_from(&read_json(text.as_bytes()).ok()?).ok()
});

/// A path reads the same when it is read again as it is forwarded, and has no dot segment then.
fn path(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let raw = text
        .lines()
        .find(|line| line.starts_with('/'))
        .unwrap_or(text);
    let Ok(read) = RequestPath::read(raw) else {
        return false;
    };
    let again = RequestPath::read(&read.forwarded).expect("a path that is forwarded can be read");
    assert_eq!(
        (&again.strict, &again.lenient),
        (&read.strict, &read.lenient),
        "{raw}"
    );
    assert_eq!(again.forwarded, read.forwarded, "{raw}");
    true
}

/// A decision of the router stays within the policy, and a charge within its bound.
fn routing(input: &[u8]) -> bool {
    let (Ok(text), Some(policy)) = (std::str::from_utf8(input), &*POLICY) else {
        return false;
    };
    let mut lines = text.lines();
    let (Some(method), Some(host), Some(path)) = (lines.next(), lines.next(), lines.next()) else {
        return false;
    };
    let fields = requests::fields(lines);
    let header = |name: &str| requests::value(&fields, name);
    let length = header("content-length").map_or(BodyLength::Unknown, |text| {
        text.parse().map_or(BodyLength::None, BodyLength::Known)
    });
    let facts = Facts {
        method,
        host,
        path,
        header: &header,
        country: header("x-country").is_some().then_some("DE"),
        asn: Some(64_512),
        body: length,
    };
    let model = header("x-model");
    let Ok(router) = Router::new(policy, &facts) else {
        return false;
    };
    let by_model = router.by_model();
    let Ok(routed) = router.find(model.as_deref()) else {
        return false;
    };
    assert!(!is_own(path) && !is_own(&routed.path) && routed.path.starts_with('/'));
    let To::Route(route) = routed.to else {
        return true;
    };
    assert!(route.serves(model.as_deref()));
    assert!(
        by_model.is_some() || route.models.is_empty(),
        "a body was not read that decides"
    );
    let client = address::client(&policy.trusted_proxies, &facts);
    let named = match &route.tenant {
        Some(source) => tenant::find(source, policy, &facts, client),
        None => tenant::Tenant::Absent,
    };
    let Ok(named) = tenant::settled(route, named) else {
        return true;
    };
    let asking = models::Asking {
        route,
        tenant: named.as_deref(),
        facts: &facts,
        client,
    };
    if let Ok(told) = models::answer(policy, &asking, EpochMs(1)) {
        let told: Value = serde_json::from_str(&told).unwrap_or_default();
        assert!(told["data"].is_array() != told["id"].is_string(), "{told}");
    }
    if let Ok(asked) = question(route, &facts, None, named.as_deref(), client) {
        assert!(asked.check.items.iter().all(|item| item.cost <= COST_MAX));
        assert!(
            asked
                .settled
                .iter()
                .all(|(place, _)| *place < asked.check.items.len())
        );
    }
    true
}

/// A route of the table is found by its own method alone, and its path is Weir's.
fn own_route(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let mut lines = text.lines();
    let method = lines.next().unwrap_or_default();
    let path = lines.find(|line| line.starts_with('/')).unwrap_or_default();
    let Ok(found) = endpoint::find(method, path) else {
        return false;
    };
    assert!(ROUTES.contains(found.route) && found.route.method.name() == method);
    assert!(is_own(path) || path == "/", "{path}");
    if let Ok(name) = found.name() {
        assert!(
            name.len() <= 128 && !name.chars().any(char::is_control),
            "{name:?}"
        );
    }
    true
}

fn query(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let pairs = text
        .lines()
        .flat_map(|line| line.split('&'))
        .filter_map(|pair| pair.split_once('='));
    let pairs = pairs.filter_map(|(name, value)| Some((decoded(name).ok()?, decoded(value).ok()?)));
    let Ok(mut query) = Query::new(pairs) else {
        return false;
    };
    let number = query.number("limit");
    let (_, _) = (query.flag("n"), query.text("cursor", 16));
    let tenant = query.tenant("tenant");
    query.finish("limit, n, cursor, tenant").is_ok() && number.is_ok() && tenant.is_ok()
}

/// The address of an origin reads the same as it is written.
fn origin(input: &[u8]) -> bool {
    let Some(url) = std::str::from_utf8(input)
        .ok()
        .and_then(|text| OriginUrl::read(text).ok())
    else {
        return false;
    };
    let again = OriginUrl::read(&url.text()).expect("an address reads as it is written");
    assert_eq!(
        (again.text(), again.is_private()),
        (url.text(), url.is_private())
    );
    true
}

fn network(input: &[u8]) -> bool {
    let Some(cidr) = std::str::from_utf8(input)
        .ok()
        .and_then(|text| Cidr::read(text).ok())
    else {
        return false;
    };
    [[0, 0, 0, 0], [10, 0, 0, 1], [255; 4]]
        .iter()
        .any(|octets| cidr.contains((*octets).into()))
}
