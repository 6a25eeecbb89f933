//! `limit_req_zone` and `limit_req` of nginx (ngx_http_limit_req_module).
//!
//! A zone with `burst` and `nodelay`, or without `burst`, admits or denies: that is `gcra` with the zone's rate, of which
//! `burst + 1` pass at once. One with `burst` alone delays: that is `leaky_bucket`, in which the last of the burst waits
//! `burst / rate`. Where one zone is used with several bursts, each is a limit with states of its own.

use weir_shared::ordered::OrderedMap;
use weir_shared::wire::decimal::Decimal;
use weir_shared::wire::policy::{Algorithm, LimitBody, Scope};

use super::Unparsed;
use super::directives::{Block, Directive, read};
use super::fragment::Imported;

/// What a `limit_req_zone` says.
#[derive(Debug, Clone)]
struct Zone {
    line: usize,
    key: String,
    limit: u64,
    period_ms: u64,
    used: bool,
}

/// What a `limit_req` says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    zone: String,
    burst: u64,
    delays: bool,
    dry_run: bool,
}

/// Directives of the modules that limit, which have no counterpart.
const UNMAPPED: [(&str, &str); 6] = [
    (
        "limit_req_status",
        "a denial is 429, or what asks answers as it likes",
    ),
    (
        "limit_req_log_level",
        "decisions are counted, and shown by `weir tail`",
    ),
    (
        "limit_conn_zone",
        "connections are not counted; a guard bounds calls at a time, of a tenant",
    ),
    (
        "limit_conn",
        "connections are not counted; a guard bounds calls at a time, of a tenant",
    ),
    (
        "limit_rate",
        "bytes are not slowed down; a meter bounds units a second, of a tenant",
    ),
    (
        "include",
        "what it includes is not read: import it by itself",
    ),
];

/// Makes limits of a configuration.
///
/// # Errors
/// When its text is none.
///
/// ```
/// let made = weir_cli::import::nginx::import(
///     "limit_req_zone $binary_remote_addr zone=one:10m rate=5r/s;\nlocation / { limit_req zone=one burst=9 nodelay; }",
/// ).unwrap();
/// let one = &made.limits["one"];
/// assert_eq!((one.limit, one.period_ms, one.burst), (Some(5), Some(1_000), Some(10)));
/// ```
pub fn import(text: &str) -> Result<Imported, Unparsed> {
    let directives = read(text)?;
    let mut imported = Imported::default();
    let mut zones = OrderedMap::new();
    for directive in directives
        .iter()
        .filter(|one| one.name() == "limit_req_zone")
    {
        if let Some((name, zone)) = zone(directive, &mut imported) {
            zones.insert(name, zone);
        }
    }
    let mut names = OrderedMap::new();
    for directive in &directives {
        let reason = UNMAPPED.iter().find(|(name, _)| *name == directive.name());
        if let Some((_, reason)) = reason {
            imported.unmapped(directive.line, format!("{}: {reason}", directive.text()));
        } else if directive.name() == "limit_req" {
            used(
                directive,
                &directives,
                &mut zones,
                &mut names,
                &mut imported,
            );
        }
    }
    for (name, zone) in zones.iter().filter(|(_, zone)| !zone.used) {
        imported.unmapped(
            zone.line,
            format!("zone {name}: no limit_req of this file uses it"),
        );
    }
    Ok(imported)
}

/// A zone with its name; none where it is not to be understood, which is noted.
fn zone(directive: &Directive, imported: &mut Imported) -> Option<(String, Zone)> {
    let mut said = (None, None);
    let mut key = Vec::new();
    for word in directive.parameters() {
        match word.split_once('=') {
            Some(("zone", zone)) => {
                said.0 = Some(zone.split(':').next().unwrap_or(zone).to_owned())
            }
            Some(("rate", text)) => said.1 = rate(text),
            _ if word == "sync" => {
                let why = "sync: a limit of Weir is shared by its region anyway";
                imported.unmapped(directive.line, why);
            }
            _ => key.push(word.as_str()),
        }
    }
    let (Some(name), Some((limit, period_ms))) = said else {
        let why = "it has no zone, or no rate of the form 5r/s or 5r/m";
        imported.unmapped(directive.line, format!("{}: {why}", directive.text()));
        return None;
    };
    let zone = Zone {
        line: directive.line,
        key: key.join(" "),
        limit,
        period_ms,
        used: false,
    };
    Some((name, zone))
}

/// Requests, and the milliseconds in which they are: `5r/s`, `30r/m`.
fn rate(text: &str) -> Option<(u64, u64)> {
    let (number, unit) = text.split_once("r/")?;
    let period_ms = match unit {
        "s" => 1_000,
        "m" => 60_000,
        _ => return None,
    };
    Some((number.parse().ok()?, period_ms))
}

/// Takes the limit that a `limit_req` asks for, unless another asked for the same.
fn used(
    directive: &Directive,
    all: &[Directive],
    zones: &mut OrderedMap<String, Zone>,
    names: &mut OrderedMap<Use, Option<String>>,
    imported: &mut Imported,
) {
    let line = directive.line;
    let Some(asked) = asked(directive, dry_run(directive, all), imported) else {
        imported.unmapped(line, format!("{}: it names no zone", directive.text()));
        return;
    };
    let Some(zone) = zones.get_mut(&asked.zone) else {
        let why = "this file has no limit_req_zone for it";
        imported.unmapped(line, format!("{}: {why}", directive.text()));
        return;
    };
    zone.used = true;
    let other = names.keys().any(|known| known.zone == asked.zone);
    if !names.contains_key(&asked) {
        let name = imported.limit(line, &asked.zone, body(zone, &asked));
        if let (true, Some(name)) = (other, &name) {
            let why = format!(
                "zone {}: as limit {name} it has states of its own here, not those of its other uses",
                asked.zone
            );
            imported.unmapped(line, why);
        }
        names.insert(asked.clone(), name);
    }
    if let Some(Some(name)) = names.get(&asked) {
        let place = directive
            .within
            .last()
            .map_or("everywhere", |block| &block.head);
        let door = if asked.delays {
            "POST /v1/reserve"
        } else {
            "POST /v1/check"
        };
        let key = &zone.key;
        imported.asked(
            line,
            format!("{place}: ask {door} for limit {name:?}, with {key} as the key"),
        );
    }
}

/// What a `limit_req` says; none where it names no zone.
fn asked(directive: &Directive, dry_run: bool, imported: &mut Imported) -> Option<Use> {
    let mut zone = None;
    let mut burst = 0;
    let mut delays = true;
    for word in directive.parameters() {
        match word.split_once('=') {
            Some(("zone", name)) => zone = Some(name.to_owned()),
            Some(("burst", number)) => burst = number.parse().unwrap_or(0),
            Some(("delay", _)) => {
                let why = "of a burst all are delayed, or none: here none is";
                imported.unmapped(directive.line, format!("{word}: {why}"));
                delays = false;
            }
            _ if word == "nodelay" => delays = false,
            _ => imported.unmapped(directive.line, format!("{word}: it is not known")),
        }
    }
    Some(Use {
        zone: zone?,
        burst,
        delays: delays && burst > 0,
        dry_run,
    })
}

/// Whether it only counts: as the innermost `limit_req_dry_run` around it says.
fn dry_run(directive: &Directive, all: &[Directive]) -> bool {
    let around = |one: &&Directive| is_around(&one.within, &directive.within);
    let said = all.iter().filter(|one| one.name() == "limit_req_dry_run");
    let nearest = said.filter(around).max_by_key(|one| one.within.len());
    nearest.is_some_and(|one| one.parameters() == ["on"])
}

fn is_around(outer: &[Block], inner: &[Block]) -> bool {
    inner.starts_with(outer)
}

fn body(zone: &Zone, asked: &Use) -> LimitBody {
    let common = LimitBody {
        scope: Some(Scope::Region),
        shadow: asked.dry_run.then_some(true),
        ..LimitBody::default()
    };
    if asked.delays {
        let wait_ms =
            u128::from(asked.burst) * u128::from(zone.period_ms) / u128::from(zone.limit.max(1));
        return LimitBody {
            algorithm: Some(Algorithm::LeakyBucket),
            rate_per_sec: Some(Decimal(zone.limit as f64 * 1_000.0 / zone.period_ms as f64)),
            max_queue_ms: Some(u64::try_from(wait_ms).unwrap_or(u64::MAX)),
            ..common
        };
    }
    LimitBody {
        algorithm: Some(Algorithm::Gcra),
        limit: Some(zone.limit),
        period_ms: Some(zone.period_ms),
        burst: Some(asked.burst.saturating_add(1)),
        ..common
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIGURATION: &str = r#"http {
  limit_req_zone $binary_remote_addr zone=ip:10m rate=10r/s;
  limit_req_zone "$server_name $arg_user" zone=user:10m rate=30r/m sync;
  limit_req_zone $uri zone=unused:1m rate=1r/s;
  limit_req_status 429;
  limit_conn_zone $binary_remote_addr zone=addr:10m;
  server {
    limit_req zone=ip burst=20 nodelay;
    location /login { limit_req zone=user; limit_req zone=ip burst=20 nodelay; }
    location /search { limit_req zone=user burst=6; }
    location /trial { limit_req_dry_run on; limit_req zone=ip burst=5 delay=2; }
    location /lost { limit_req zone=nowhere; }
    include other.conf;
    proxy_pass http://app;
  }
}
"#;

    #[test]
    fn each_use_of_a_zone_is_a_limit() {
        let made = import(CONFIGURATION).unwrap();
        assert_eq!(
            made.fragment(),
            json!({ "limits": {
                "ip": { "algorithm": "gcra", "limit": 10, "period_ms": 1_000, "burst": 21, "scope": "region" },
                "ip_2": { "algorithm": "gcra", "limit": 10, "period_ms": 1_000, "burst": 6, "scope": "region", "shadow": true },
                "user": { "algorithm": "gcra", "limit": 30, "period_ms": 60_000, "burst": 1, "scope": "region" },
                "user_2": { "algorithm": "leaky_bucket", "rate_per_sec": 0.5, "max_queue_ms": 12_000, "scope": "region" },
            } })
        );
    }

    #[test]
    fn what_does_not_map_is_told_with_its_line() {
        let made = import(CONFIGURATION).unwrap();
        let told: Vec<String> = made.notes.iter().map(|note| note.text("f")).collect();
        for expected in [
            "f:3: not mapped: sync: ",
            "f:4: not mapped: zone unused: ",
            "f:5: not mapped: limit_req_status 429: ",
            "f:6: not mapped: limit_conn_zone $binary_remote_addr zone=addr:10m: ",
            "f:10: not mapped: zone user: as limit user_2 it has states of its own",
            "f:11: not mapped: delay=2: ",
            "f:12: not mapped: limit_req zone=nowhere: ",
            "f:13: not mapped: include other.conf: ",
            "f:8: server: ask POST /v1/check for limit \"ip\", with $binary_remote_addr as the key",
            "f:9: location /login: ask POST /v1/check for limit \"user\", with $server_name $arg_user as the key",
            "f:10: location /search: ask POST /v1/reserve for limit \"user_2\"",
        ] {
            assert!(
                told.iter().any(|line| line.starts_with(expected)),
                "{expected}\n{told:#?}"
            );
        }
        assert!(
            !told.iter().any(|line| line.contains("proxy_pass")),
            "{told:#?}"
        );
    }

    #[test]
    fn a_rate_that_is_none_is_told() {
        for rate in ["0r/s", "5r/h", "fast"] {
            let text = format!("limit_req_zone $a zone=z:1m rate={rate};\nlimit_req zone=z;");
            let made = import(&text).unwrap();
            assert!(made.limits.is_empty(), "{rate}");
            assert!(!made.notes.is_empty(), "{rate}");
        }
    }
}
