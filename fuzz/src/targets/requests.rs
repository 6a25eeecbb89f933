//! Requests on the gateway: their header fields, and how they are written in the corpus (method, host, path, then a field
//! a line).

use weir_shared::access::credential::SecretEnds;
use weir_shared::access::endpoint::AUTHORIZE;
use weir_shared::decision::id::DecisionId;
use weir_shared::gateway::address::{Cidr, behind, client};
use weir_shared::gateway::described::Described;
use weir_shared::gateway::facts::{BodyLength, Facts};
use weir_shared::gateway::forwarding::{Hop, keep_response_header, loops, request_headers};
use weir_shared::trace::parent::{self, Parent};
use weir_shared::trace::sampling::{Begun, DRAWN_BYTES, Headers, Share};
use weir_shared::trace::state;

use super::lanes;
use crate::driver::Lane;

pub(super) const LANES: &[Lane] = lanes! {
    "forwarded" => forwarded,
    "answered" => answered,
    "traced" => traced,
    "identified" => identified,
};

type Fields = Vec<(String, String)>;

/// The fields of lines. What the platform refuses in a name or value never gets here.
pub(super) fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Fields {
    let fields = lines.filter_map(|line| line.split_once(": "));
    let token = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte))
    };
    let fields = fields.filter(|(name, value)| token(name) && !value.contains(['\0', '\r']));
    fields
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect()
}

/// The value of a field, several joined.
pub(super) fn value(fields: &Fields, name: &str) -> Option<String> {
    let values: Vec<_> = fields
        .iter()
        .filter(|field| field.0 == name)
        .map(|field| field.1.as_str())
        .collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// What is read of a trace's headers is handed on as something that is read the same, and a broken parent is none.
fn traced(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let given = fields(text.lines());
    let (told, kept) = (value(&given, parent::HEADER), value(&given, state::HEADER));
    let headers = Headers {
        parent: told.as_deref(),
        state: kept.as_deref(),
    };
    let Some(begun) = Begun::of(headers, Share::default(), [5; DRAWN_BYTES]) else {
        return false;
    };
    assert_eq!(Begun::read(&begun.word()).as_ref(), Some(&begun));
    let handed_on = begun.as_parent().text();
    assert!(Parent::read(&handed_on).is_some_and(|parent| parent.sampled));
    assert!(begun.parent.is_some() && told.is_some_and(|told| told.contains(&begun.trace.text())));
    if let Some(state) = &begun.state {
        assert_eq!(state::valid(state), Some(state.as_str()));
    }
    true
}

/// What is read as the id of a denial is written the same.
fn identified(input: &[u8]) -> bool {
    let mut read = false;
    for line in input.split(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let told = text.split_once(": ").map_or(&*text, |(_, told)| told);
        if let Ok(id) = DecisionId::try_from(told) {
            assert_eq!(id.to_string(), told);
            read = true;
        }
    }
    read
}

/// The bootstrap secret of the deployment, and a password in base64 that is it.
const SECRET: &str = "9f3a61c07be2d4185ac94e7d02b6f813";
const PACKED: &str = "OjlmM2E2MWMwN2JlMmQ0MTg1YWM5NGU3ZDAyYjZmODEz";

/// No token, no secret and no session of Weir's, and nothing of the platform's, reaches an origin; what is left out once is
/// left out.
fn forwarded(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let given = fields(text.lines());
    let header = |name: &str| value(&given, name);
    let facts = Facts {
        method: "GET",
        host: "h",
        path: "/",
        header: &header,
        country: None,
        asn: None,
        body: BodyLength::None,
    };
    described(&Facts {
        path: AUTHORIZE,
        ..facts
    });
    let trusted = [Cidr::read("10.0.0.0/8").expect("a network")];
    let secret = SecretEnds::of(SECRET);
    for trusted in [&trusted[..], &[]] {
        let hop = Hop {
            facts: &facts,
            trusted,
            scheme: "https",
            secret: secret.as_ref(),
            consumed: None,
        };
        let kept = request_headers(given.clone(), &hop);
        let (_, _) = (client(trusted, &facts), loops(&facts));
        assert_eq!(kept.iter().filter(|field| field.0 == "via").count(), 1);
        for (name, value) in &kept {
            assert!(
                !name.starts_with("cf-") && !name.starts_with("weir-") && name != "connection",
                "{name}"
            );
            let low = value.to_ascii_lowercase();
            assert!(
                name != "authorization" || !low.contains("bearer weir_"),
                "{value}"
            );
            assert!(!low.contains(SECRET) && !value.contains(PACKED), "{value}");
            let cookies = value.split(';').map(|one| one.trim().to_ascii_lowercase());
            let session = cookies.into_iter().any(|one| {
                one.starts_with("__host-weir_session=") || one.starts_with("weir_session=")
            });
            assert!(name != "cookie" || !session, "{value}");
        }
    }
    !given.is_empty()
}

/// What a proxy asks about has one URI, which no other field contradicts, and a client that is the last of its chain.
fn described(question: &Facts<'_>) {
    let said = ["x-forwarded-uri", "x-original-uri"].map(|name| question.value(name));
    if let Ok(read) = Described::read(question) {
        let path = read.facts(question.header).path.to_owned();
        for uri in said.iter().flatten() {
            assert!(uri.starts_with(&path), "{uri}");
        }
        let chain = question.value("x-forwarded-for").unwrap_or_default();
        let last = chain.rsplit(',').next().unwrap_or_default();
        assert!(
            behind(&[], question).is_none() || !last.trim().is_empty(),
            "{chain}"
        );
    }
}

/// No answer of an origin sets an operator's cookie.
fn answered(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let given = fields(text.lines());
    let connection = value(&given, "connection");
    let mut any = false;
    for (name, value) in &given {
        let kept = keep_response_header(name, value, connection.as_deref());
        let sets = value
            .trim()
            .to_ascii_lowercase()
            .starts_with("__host-weir_session=");
        assert!(!(kept && name == "set-cookie" && sets), "{value}");
        any |= kept;
    }
    any
}
