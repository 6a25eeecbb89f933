//! What an agent says is made what an isolate would say: by the policy's own terms and claims, and for itself alone.

use serde_json::{Value, json};
use weir_shared::agent::{Admitted, Speaker, holder};
use weir_shared::contact::ContactReply;
use weir_shared::fairness::ask::Claimant;
use weir_shared::ordered::OrderedMap;
use weir_shared::policy::Policy;
use weir_shared::units::{EpochMs, HolderId, Revision, WindowLabel};
use weir_shared::wire::accounting::{FrameBody, FrameReply, OTHERS, Tally, TenantCounters};
use weir_shared::wire::agent::{AgentContactBody, AgentContactReply};
use weir_shared::wire::by_name::ByName;
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::{ExchangeAnswer, RankBody, Refusal, Terms, Want};
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::windows::{BranchPart, HeldPart, TenantPart, WindowPart};

use crate::descriptors::described;
use crate::document::policy;
use crate::wire::pinned::is_written_as;
use crate::wire::samples::{FRAME, MESSAGE, frame, message};

const NOW: EpochMs = EpochMs(1_700_000_000_000);
const AGENT: HolderId = HolderId(7);

fn document() -> Value {
    let mut document = described();
    document["budgets"]["tokens"]["sharing"] = json!("weighted_fair_escrow");
    document["tiers"]["free"]["budgets"] = json!({ "tokens": { "ceiling": 40 } });
    document
}

fn rules(document: &Value) -> Policy {
    policy(&document.to_string()).unwrap()
}

fn admit(body: AgentContactBody) -> Result<Admitted, (String, String)> {
    let policy = rules(&document());
    let speaker = Speaker {
        token: "token",
        region: "weur",
        policy: &policy,
        revision: Revision(5),
        now: NOW,
    };
    let refused =
        |refused: weir_shared::invalid::Invalid| (refused.field, refused.fault.to_string());
    speaker.admit(body).map_err(refused)
}

fn contact() -> AgentContactBody {
    AgentContactBody {
        v: 2,
        agent: AGENT,
        region: Some("weur".to_owned()),
        revision: Revision(3),
        exchanges: vec![message()],
        frame: None,
    }
}

fn want(tenant: &str) -> Want {
    let rank = RankBody {
        weight: 1_000_000_000_000,
        known: true,
        borrow_max: None,
        lend_max: None,
        ceiling: None,
        floor: 99,
        floor_by_name: true,
        revision: Revision(9_000),
        since: 0,
        above: Vec::new(),
    };
    Want {
        tenant: Some(tenant.to_owned()),
        waiting: 4,
        smallest: 2,
        expected: 1,
        held: 3,
        denied: 5,
        rank: Some(rank),
    }
}

#[test]
fn terms_claims_and_who_speaks_are_the_deployments_word() {
    let mut body = contact();
    let forged = Terms {
        limit: 1 << 40,
        revision: Revision(9_000),
        ..body.exchanges[0].terms.clone()
    };
    body.exchanges[0].terms = forged;
    body.exchanges[0].wants = ["acme", "stranger", &Claimant::overflow().name]
        .map(want)
        .to_vec();
    let admitted = admit(body.clone()).unwrap().contact;
    let told = &admitted.exchanges[0];
    assert_eq!((told.terms.limit, told.terms.revision), (100, Revision(5)));
    assert_eq!(told.holder, holder("token", AGENT));
    assert_ne!(told.holder, AGENT);
    let rank = |index: usize| told.wants[index].rank.clone().unwrap();
    assert_eq!((rank(0).weight, rank(0).known), (6_000_000, true));
    assert_eq!(
        (rank(1).weight, rank(1).known, rank(1).ceiling),
        (1_000_000, false, Some(40))
    );
    // Those that nobody tells apart are bounded as one that nobody names.
    assert_eq!((rank(2).known, rank(2).ceiling), (false, Some(40)));
    assert!((0..3).all(|index| rank(index).floor == 0));
    // By none of its revisions, as at an isolate.
    assert_eq!([0, 1, 2].map(|index| rank(index).revision.0), [5, 5, 0]);
    // What it asks for, has and gives back is its own to say.
    let said = &body.exchanges[0];
    assert_eq!(
        (told.sequence, &told.returns),
        (said.sequence, &said.returns)
    );
    assert_eq!((told.wants[0].waiting, told.wants[0].denied), (4, 5));
    assert_eq!(
        (admitted.region.as_str(), admitted.revision),
        ("weur", Revision(3))
    );
    assert!(admitted.tokens_used.is_empty() && admitted.overload.is_none());
    assert!(admitted.accounts.is_empty() && admitted.token_wanted.is_none());
    assert!(
        admitted.access_revision > Revision(1 << 50),
        "no table of tokens is newer"
    );
}

#[test]
fn a_tenant_that_the_policy_refuses_asks_for_nothing() {
    let mut refusing = document();
    refusing["default_tier"] = json!(null);
    let policy = rules(&refusing);
    let speaker = Speaker {
        token: "token",
        region: "weur",
        policy: &policy,
        revision: Revision(5),
        now: NOW,
    };
    let mut body = contact();
    body.exchanges[0].wants = ["acme", "stranger"].map(want).to_vec();
    let admitted = speaker.admit(body).unwrap().contact;
    let names = admitted.exchanges[0]
        .wants
        .iter()
        .map(|want| want.tenant.as_deref());
    assert_eq!(names.collect::<Vec<_>>(), [Some("acme")]);
}

#[test]
fn what_no_agent_may_say_is_refused_at_its_field() {
    let refused = |change: fn(&mut AgentContactBody)| {
        let mut body = contact();
        change(&mut body);
        admit(body).unwrap_err()
    };
    for (change, field, message) in [
        (
            (|body| body.v = 9) as fn(&mut AgentContactBody),
            "/v",
            "9 is outside 1 to 3",
        ),
        (
            |body| body.exchanges = vec![message(); 257],
            "/exchanges",
            "257 messages, at most 256 are allowed",
        ),
        (
            |body| body.exchanges[0].budget = "per_ip\u{1}k".to_owned(),
            "/exchanges/0/budget",
            "\"per_ip\\u{1}k\" is not a known name of a budget",
        ),
    ] {
        assert_eq!(refused(change), (field.to_owned(), message.to_owned()));
    }
}

#[test]
fn a_budget_that_there_is_not_is_answered_in_its_place_without_the_region() {
    let mut body = contact();
    let unknown = weir_shared::wire::exchange::ExchangeBody {
        budget: "nothing".to_owned(),
        ..message()
    };
    body.exchanges = vec![unknown.clone(), message(), unknown];
    let admitted = admit(body).unwrap();
    assert_eq!(admitted.contact.exchanges.len(), 1);
    let reply = |exchanges: Vec<ExchangeAnswer>| ContactReply {
        policy: None,
        exchanges,
        frame: None,
        next_contact_ms: 700,
        access: Some(json!({ "key": "secret" })),
        overload: None,
        branches: None,
    };
    let no_window = ExchangeAnswer::Refused(Refusal::NoWindow);
    let unknown = ExchangeAnswer::Refused(Refusal::UnknownBudget);
    let told = admitted
        .clone()
        .answer(reply(vec![no_window.clone()]))
        .unwrap();
    assert_eq!(
        told.exchanges,
        [unknown.clone(), no_window, unknown.clone()]
    );
    assert_eq!((told.region.as_str(), told.next_contact_ms), ("weur", 700));
    assert!(!serde_json::to_string(&told).unwrap().contains("secret"));
    // A region that says too little has said nothing.
    let told = admitted.answer(reply(Vec::new())).unwrap();
    assert_eq!(told.exchanges, vec![unknown; 3]);
}

#[test]
fn an_agent_is_told_the_policy_without_what_it_does_not_decide_by() {
    let document: weir_shared::wire::policy::PolicyDocument =
        serde_json::from_value(document()).unwrap();
    let saved = SavedPolicy {
        revision: Revision(6),
        document,
        handovers: OrderedMap::new(),
        placement: None,
    };
    let mut saved = serde_json::to_value(saved).unwrap();
    saved["placement"] = json!("a".repeat(32));
    let reply = ContactReply {
        policy: Some(saved),
        exchanges: Vec::new(),
        frame: None,
        next_contact_ms: 500,
        access: None,
        overload: None,
        branches: None,
    };
    let told = admit(AgentContactBody {
        exchanges: Vec::new(),
        ..contact()
    })
    .unwrap();
    let policy = told.answer(reply).unwrap().policy.unwrap();
    for secret in ["ba7816bf", "origin.example", "10.0.0.0", "placement"] {
        assert!(!policy.to_string().contains(secret), "{secret}");
    }
    let known: SavedPolicy = serde_json::from_value(policy).unwrap();
    let known = Policy::try_from(&known.document).unwrap();
    let full = rules(&document_without_routes());
    assert_eq!(known.budgets, full.budgets);
    assert_eq!(known.descriptors, full.descriptors);
    assert_eq!(known.tiers, full.tiers);
}

fn document_without_routes() -> Value {
    let mut document = document();
    document["routes"] = json!([]);
    document
}

#[test]
fn counters_are_those_of_budgets_and_of_tenants_that_there_can_be() {
    let counted = || TenantCounters {
        budgets: ByName::from([
            ("tokens".to_owned(), tally()),
            ("invented".to_owned(), tally()),
        ]),
        limits: ByName::from([("per_ip".to_owned(), tally())]),
        listed: true,
        ..TenantCounters::default()
    };
    let of_limits = TenantCounters {
        budgets: ByName::default(),
        ..counted()
    };
    let tenants = ["acme", "stranger", OTHERS, "line\nbreak"];
    let mut counters: OrderedMap<String, TenantCounters> =
        tenants.map(|name| (name.to_owned(), counted())).into();
    counters.insert("of-limits".to_owned(), of_limits);
    let part = WindowPart {
        limit: 100,
        region: Some("enam".to_owned()),
        tenants: tenants
            .map(|name| {
                (
                    name.to_owned(),
                    TenantPart {
                        known: true,
                        admitted: Count(3),
                        beyond: Count(4),
                        refunded: Count(5),
                        ..TenantPart::default()
                    },
                )
            })
            .into(),
        reservations: OrderedMap::from([(
            NOW,
            OrderedMap::from([("acme".to_owned(), HeldPart::default())]),
        )]),
        lapsed: Count(2),
        unaccounted: Count(9),
        ..WindowPart::default()
    };
    let parts = || OrderedMap::from([(WindowLabel(4), part.clone())]);
    let body = FrameBody {
        counters,
        windows: OrderedMap::from([
            ("tokens".to_owned(), parts()),
            ("invented".to_owned(), parts()),
        ]),
        ..frame()
    };
    let said = AgentContactBody {
        frame: Some(body.clone()),
        ..contact()
    };
    let told = admit(said).unwrap().contact.frame.unwrap();
    assert_eq!(told.sender, holder("token", AGENT));
    assert_eq!(
        (
            told.incarnation,
            told.sequence,
            told.receiver,
            told.again,
            told.v
        ),
        (
            body.incarnation,
            body.sequence,
            body.receiver,
            body.again,
            body.v
        )
    );
    let names: Vec<&str> = told.counters.keys().map(String::as_str).collect();
    assert_eq!(names, [OTHERS, "acme", "stranger"]);
    let acme = &told.counters["acme"];
    assert_eq!(
        acme,
        &TenantCounters {
            budgets: ByName::from([("tokens".to_owned(), tally())]),
            known: true,
            ..TenantCounters::default()
        }
    );
    assert!(!told.counters["stranger"].known);
    assert_eq!(told.windows.keys().collect::<Vec<_>>(), ["tokens"]);
    let window = &told.windows["tokens"][&WindowLabel(4)];
    assert_eq!(
        (window.limit, window.lapsed, window.unaccounted),
        (100, Count(2), Count(0))
    );
    assert!(window.region.is_none() && window.reservations.is_empty());
    assert_eq!(window.tenants.len(), 3);
    let stranger = window.tenants["stranger"];
    assert_eq!((stranger.known, stranger.admitted), (false, Count(3)));
    assert_eq!((stranger.beyond, stranger.refunded), (Count(0), Count(0)));
    assert!(told.samples.is_empty() && told.reservations.is_empty());
    assert_eq!(
        (told.usage, told.telemetry),
        (FrameBody::default().usage, FrameBody::default().telemetry)
    );
}

/// What an agent tells of a window of `tokens` in which these tenants asked, as the deployment takes it.
fn window(said: WindowPart) -> WindowPart {
    let body = FrameBody {
        windows: OrderedMap::from([(
            "tokens".to_owned(),
            OrderedMap::from([(WindowLabel(4), said)]),
        )]),
        ..frame()
    };
    let said = AgentContactBody {
        frame: Some(body),
        ..contact()
    };
    let told = admit(said).unwrap().contact.frame.unwrap();
    told.windows["tokens"][&WindowLabel(4)].clone()
}

#[test]
fn what_a_window_guarantees_is_the_policys_word() {
    let counted = TenantPart {
        admitted: Count(3),
        denied: Count(4),
        would_deny: Count(5),
        ..TenantPart::default()
    };
    let greedy = TenantPart {
        weight_micros: 9_000_000_000_000_000,
        floor: 9_000_000_000_000_000,
        floor_by_name: true,
        ceiling: Some(1),
        ..counted
    };
    let branch = |parent: &str| BranchPart {
        parent: Some(parent.to_owned()),
        weight_micros: 9_000_000_000_000_000,
        floor: 9_000_000_000_000_000,
        floor_by_name: true,
        ceiling: Some(1),
        floors: 9_000_000_000_000_000,
    };
    let names = ["acme/web/ann", "stranger", OTHERS];
    let part = |one| WindowPart {
        limit: 100,
        ends_at: NOW,
        tenants: names.map(|name| (name.to_owned(), one)).into(),
        lapsed: Count(2),
        ..WindowPart::default()
    };
    let forged = WindowPart {
        limit: 9_000_000_000_000_000,
        tree: ["acme", "acme/web", "acme/web/ann", "heavy"]
            .map(|name| (name.to_owned(), branch("gold:late")))
            .into(),
        floors: 9_000_000_000_000_000,
        unknown_weight_max: Some(9_000_000_000_000_000),
        ..part(greedy)
    };
    let told = window(forged);
    // An agent of an earlier version claims less, and says nothing of who is above whom.
    assert_eq!(window(part(counted)), told);
    let own = |weight_micros, known, ceiling| TenantPart {
        weight_micros,
        known,
        ceiling,
        ..counted
    };
    let tenants = [
        own(500_000, true, None),
        own(1_000_000, false, Some(40)),
        own(1_000_000, false, Some(40)),
    ];
    let above = |parent: Option<&str>, weight_micros, ceiling| BranchPart {
        parent: parent.map(str::to_owned),
        weight_micros,
        ceiling,
        ..BranchPart::default()
    };
    let expected = WindowPart {
        tenants: names.map(str::to_owned).into_iter().zip(tenants).collect(),
        tree: [
            ("acme", above(None, 6_000_000, None)),
            ("acme/web", above(Some("acme"), 1_000_000, Some(40))),
            ("acme/web/ann", above(Some("acme/web"), 0, None)),
        ]
        .map(|(name, branch)| (name.to_owned(), branch))
        .into(),
        unknown_weight_max: Some(3_250_000),
        ..part(counted)
    };
    assert_eq!(told, expected);
}

fn tally() -> Tally {
    Tally {
        admitted_units: Count(3),
        ..Tally::default()
    }
}

#[test]
fn a_contact_of_an_agent_and_its_answer() {
    is_written_as(
        &AgentContactBody {
            frame: Some(frame()),
            ..contact()
        },
        &format!(
            r#"{{"v":2,"agent":7,"region":"weur","revision":3,"exchanges":[{MESSAGE}],"frame":{FRAME}}}"#
        ),
    );
    let first = AgentContactBody {
        region: None,
        exchanges: Vec::new(),
        ..contact()
    };
    is_written_as(&first, r#"{"v":2,"agent":7,"revision":3,"exchanges":[]}"#);
    let reply = AgentContactReply {
        region: "weur".to_owned(),
        policy: None,
        exchanges: vec![ExchangeAnswer::Refused(Refusal::NoWindow)],
        frame: Some(FrameReply {
            sequence: weir_shared::units::Sequence(9),
            receiver: weir_shared::units::Incarnation(3),
            counted: true,
        }),
        next_contact_ms: 500,
    };
    is_written_as(
        &reply,
        r#"{"region":"weur","exchanges":[{"refused":"no_window"}],"frame":{"sequence":9,"receiver":3,"counted":true},"next_contact_ms":500}"#,
    );
}
