//! The exact text of every form between Weir's own parts and of every stored row.

use crate::wire::pinned::is_written_as;
use crate::wire::samples::{
    ESCROW, FRAME, MESSAGE, POOL, REPLY, SEEN, TERMS, frame, message, reply,
};
use weir_shared::contact::{ContactBody, ContactReply, Speaker};
use weir_shared::federation::stored::{StoredEscrow, StoredPool};
use weir_shared::limiting::owner::{Account, Owner};
use weir_shared::outlasting::Outlasting;
use weir_shared::units::{EpochMs, HolderId, Incarnation, Revision, Sequence, WindowLabel};
use weir_shared::window::Window;
use weir_shared::wire::accounting::{ANONYMOUS, FrameReply, OTHERS, Tally, TenantCounters};
use weir_shared::wire::exchange::{Cycle, ExchangeAnswer, PeriodBody, Refusal, ReplyBody, Terms};
use weir_shared::wire::policy::{Cadence, PolicyDocument};
use weir_shared::wire::saved_policy::SavedPolicy;
use weir_shared::wire::shard_key::ShardKey;
use weir_shared::wire::stored::read_row;

fn frame_reply() -> FrameReply {
    FrameReply {
        sequence: Sequence(9),
        receiver: Incarnation(3),
        counted: true,
    }
}

fn pool() -> StoredPool {
    let window = Window {
        label: WindowLabel(4_711),
        ends_at: EpochMs(1_700_000_060_000),
        window_ms: 30_000,
    };
    StoredPool::new(window, TERMS, 40)
}

fn escrow() -> StoredEscrow {
    let end = (EpochMs(1_700_000_060_000), 41_000);
    StoredEscrow::new(WindowLabel(4_711), end, 100, (40, 30), Some(SEEN))
}

#[test]
fn the_exchange() {
    is_written_as(&message(), MESSAGE);
    is_written_as(&reply(), REPLY);
    is_written_as(
        &ExchangeAnswer::Reply(reply()),
        &format!(r#"{{"reply":{REPLY}}}"#),
    );
    let told = ReplyBody {
        retry_ms: Some(250),
        ..reply()
    };
    let text = REPLY.replace(
        r#""next_contact_ms":500}"#,
        r#""next_contact_ms":500,"retry_ms":250}"#,
    );
    is_written_as(&told, &text);
}

fn terms(cycle: Cycle) -> Terms {
    Terms {
        cycle: Some(cycle),
        sharing: None,
        lease: None,
        standing: 0,
        ..TERMS
    }
}

#[test]
fn the_terms_of_a_limit() {
    let text =
        |cycle: &str| format!(r#"{{"limit":100,"window_ms":60000,"revision":7,"cycle":{cycle}}}"#);
    is_written_as(&TERMS, r#"{"limit":100,"window_ms":60000,"revision":7}"#);
    is_written_as(
        &terms(Cycle::Sliding { buckets: 10 }),
        &text(r#"{"sliding":{"buckets":10}}"#),
    );
    let period = PeriodBody {
        cadence: Cadence::Fixed,
        period_ms: Some(60_000),
        anchor: Some(-5),
        offset_minutes: None,
        time_zone: None,
        week_starts_on: None,
    };
    is_written_as(
        &terms(Cycle::Calendar(period.clone())),
        &text(r#"{"calendar":{"cadence":"fixed","period_ms":60000,"anchor":-5}}"#),
    );
    let week = PeriodBody {
        cadence: Cadence::CalendarWeek,
        period_ms: None,
        anchor: None,
        offset_minutes: Some(-330),
        week_starts_on: Some(0),
        ..period.clone()
    };
    is_written_as(
        &terms(Cycle::Calendar(week)),
        &text(
            r#"{"calendar":{"cadence":"calendar_week","offset_minutes":-330,"week_starts_on":0}}"#,
        ),
    );
    let month = PeriodBody {
        cadence: Cadence::CalendarMonth,
        period_ms: None,
        anchor: None,
        time_zone: Some("Europe/Berlin".to_owned()),
        ..period
    };
    is_written_as(
        &terms(Cycle::Calendar(month)),
        &text(r#"{"calendar":{"cadence":"calendar_month","time_zone":"Europe/Berlin"}}"#),
    );
}

#[test]
fn the_refusals() {
    let (got, have) = (Incarnation(1), Incarnation(2));
    let refusals = [
        (
            Refusal::Version { got: 4, have: 2 },
            r#"{"version":{"got":4,"have":2}}"#,
        ),
        (
            Refusal::Malformed {
                field: "wants".to_owned(),
            },
            r#"{"malformed":{"field":"wants"}}"#,
        ),
        (
            Refusal::Superseded { got, have },
            r#"{"superseded":{"got":1,"have":2}}"#,
        ),
        (
            Refusal::Stale {
                got: Sequence(8),
                have: Sequence(9),
            },
            r#"{"stale":{"got":8,"have":9}}"#,
        ),
        (Refusal::TenantNamed, r#""tenant_named""#),
        (Refusal::UnknownBudget, r#""unknown_budget""#),
        (Refusal::NoWindow, r#""no_window""#),
        (Refusal::NoRoom, r#""no_room""#),
    ];
    for (refusal, text) in refusals {
        is_written_as(
            &ExchangeAnswer::Refused(refusal),
            &format!(r#"{{"refused":{text}}}"#),
        );
    }
}

#[test]
fn the_frame() {
    is_written_as(&frame(), FRAME);
    is_written_as(
        &frame_reply(),
        r#"{"sequence":9,"receiver":3,"counted":true}"#,
    );
    is_written_as(
        &TenantCounters {
            limits: [("per_ip".to_owned(), Tally::default())].into(),
            overload: [("origin".to_owned(), Tally::default())].into(),
            ..TenantCounters::default()
        },
        r#"{"limits":{"per_ip":{"admitted_calls":0,"admitted_units":0,"denied_calls":0,"denied_units":0}},"overload":{"origin":{"admitted_calls":0,"admitted_units":0,"denied_calls":0,"denied_units":0}}}"#,
    );
    is_written_as(&OTHERS.to_owned(), r#""\u0001others""#);
    is_written_as(&ANONYMOUS.to_owned(), r#""\u0001anonymous""#);
}

#[test]
fn the_contact() {
    let contact = ContactBody {
        accounts: weir_shared::ordered::OrderedMap::new(),
        region: "weur".to_owned(),
        revision: Revision(7),
        exchanges: vec![message()],
        frame: Some(frame()),
        access_revision: Revision(3),
        tokens_used: Vec::new(),
        token_wanted: None,
        overload: None,
        speaker: None,
    };
    is_written_as(
        &contact,
        &format!(
            r#"{{"region":"weur","revision":7,"exchanges":[{MESSAGE}],"frame":{FRAME},"access_revision":3}}"#
        ),
    );
    let account = Account {
        owner: Some(Owner::tenant("acme")),
        caller: Some(Owner::token("k1")),
        named: false,
        only: false,
    };
    let of_key = ContactBody {
        accounts: [("planet\u{1}acme".to_owned(), account)].into(),
        exchanges: Vec::new(),
        frame: None,
        ..contact
    };
    is_written_as(
        &of_key,
        r#"{"region":"weur","revision":7,"exchanges":[],"frame":null,"access_revision":3,"accounts":{"planet\u0001acme":{"owner":"t:acme","caller":"c:k1"}}}"#,
    );
    let of_branch = ContactBody {
        region: "weur/branches/1".to_owned(),
        accounts: Default::default(),
        speaker: Some(Speaker {
            holder: HolderId(9),
            isolates: 31,
        }),
        ..of_key
    };
    is_written_as(
        &of_branch,
        r#"{"region":"weur/branches/1","revision":7,"exchanges":[],"frame":null,"access_revision":3,"speaker":{"holder":9,"isolates":31}}"#,
    );
    let saved = SavedPolicy {
        revision: Revision(8),
        document: PolicyDocument::default(),
        handovers: weir_shared::ordered::OrderedMap::new(),
        placement: None,
    };
    let document = serde_json::to_string(&saved.document).unwrap();
    is_written_as(
        &saved,
        &format!(r#"{{"revision":8,"document":{document}}}"#),
    );
    let saved = SavedPolicy {
        placement: Some(ShardKey::new([10; 16])),
        ..saved
    };
    is_written_as(
        &saved,
        &format!(
            r#"{{"revision":8,"document":{document},"placement":"0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"}}"#
        ),
    );
    let saved = serde_json::to_value(&saved).unwrap();
    let written = saved.to_string();
    let answer = ContactReply {
        policy: Some(saved),
        exchanges: vec![ExchangeAnswer::Reply(reply())],
        frame: Some(frame_reply()),
        next_contact_ms: 500,
        access: None,
        overload: None,
        branches: Some(3),
    };
    is_written_as(
        &answer,
        &format!(
            r#"{{"policy":{written},"exchanges":[{{"reply":{REPLY}}}],"frame":{{"sequence":9,"receiver":3,"counted":true}},"next_contact_ms":500,"branches":3}}"#
        ),
    );
}

#[test]
fn the_stored_rows() {
    is_written_as(&pool(), POOL);
    is_written_as(&escrow(), ESCROW);
    assert_eq!(read_row::<StoredPool>(POOL), Ok(pool()));
    let window = Window {
        window_ms: 20_000,
        ..Window::open(WindowLabel(4_711), EpochMs(1_700_000_059_999), 30_000)
    };
    let row = StoredPool::new(window, terms(Cycle::Sliding { buckets: 3 }), 40);
    let text = r#"{"v":2,"label":4711,"ends_at":1700000070000,"window_ms":20000,"terms":{"limit":100,"window_ms":60000,"revision":7,"cycle":{"sliding":{"buckets":3}}},"watermark":40,"history":[12,0,30]}"#;
    let row = row.with_history(vec![12, 0, 30]);
    is_written_as(&row, text);
    assert_eq!(read_row::<StoredPool>(text), Ok(row));
    let kept = Outlasting {
        until: EpochMs(1_700_000_900_000),
        ended_at: EpochMs(1_700_000_030_000),
        units: 70,
    };
    let row = pool().with_outlasting(kept);
    let row = row.with_whole_until(Some(EpochMs(1_700_000_900_000)));
    let text = POOL.strip_suffix('}').unwrap().to_owned()
        + r#","outlasting":{"until":1700000900000,"ended_at":1700000030000,"units":70},"whole_until":1700000900000}"#;
    is_written_as(&row, &text);
    assert_eq!(read_row::<StoredPool>(&text), Ok(row));
    assert_eq!(read_row::<StoredEscrow>(ESCROW), Ok(escrow()));
}
