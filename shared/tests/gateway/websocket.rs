//! Requests that go on as a WebSocket: for how long they may, and what a conversation has used.

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_shared::gateway::cost::{Settled, charge};
use weir_shared::gateway::usage::session::Session;
use weir_shared::gateway::websocket::{Side, passed_on};
use weir_shared::limits::{WEBSOCKET_MS_MAX, WEBSOCKET_MS_MIN, WEBSOCKET_SETTLED_MS_MAX};
use weir_shared::policy::route::UsageFormat;

use super::document::{are_refused, get, policy, read, whole};

#[test]
fn a_route_says_for_how_long_a_socket_may_be_open_and_only_where_one_can_be_asked_for() {
    assert_eq!(policy().routes[8].websocket_ms, Some(WEBSOCKET_MS_MAX));
    assert_eq!(policy().routes[0].websocket_ms, None);
    let refused = |got: u64, max: u64| format!("{got} is outside {WEBSOCKET_MS_MIN} to {max}");
    let (long, settled) = (WEBSOCKET_MS_MAX + 1, WEBSOCKET_SETTLED_MS_MAX + 1);
    let (short, long_for_settled) = (
        refused(999, WEBSOCKET_MS_MAX),
        refused(settled, WEBSOCKET_SETTLED_MS_MAX),
    );
    let too_long = refused(long, WEBSOCKET_MS_MAX);
    are_refused(vec![
        ("/routes/8/websocket_ms", json!(999), "", &short),
        ("/routes/8/websocket_ms", json!(long), "", &too_long),
        // What it used has to be settled while that can be done.
        (
            "/routes/6/websocket_ms",
            json!(settled),
            "",
            &long_for_settled,
        ),
        (
            "/routes/0/websocket_ms",
            json!(60_000),
            "",
            "does not belong to a route without the method GET",
        ),
        (
            "/routes/9/websocket_ms",
            json!(60_000),
            "",
            "cannot be given together with answer",
        ),
    ]);
    let mut document = whole();
    document["routes"][6]["websocket_ms"] = json!(WEBSOCKET_SETTLED_MS_MAX);
    assert_eq!(
        read(&document).unwrap().routes[6].websocket_ms,
        Some(WEBSOCKET_SETTLED_MS_MAX)
    );
}

fn heard(messages: &[Value]) -> Session {
    let mut session = Session::new(&UsageFormat::OpenAi);
    for message in messages {
        session.receive(&message.to_string());
    }
    session
}

fn done(input: u64, output: u64) -> Value {
    json!({ "type": "response.done", "response": { "usage": { "input_tokens": input, "output_tokens": output } } })
}

/// What a conversation costs on the route `one`: output counts four times, `gpt-4o*` ten times.
fn cost(session: &Session) -> Option<u64> {
    let policy = policy();
    let check = &policy.routes[6].checks[0];
    let charged = get("/one", &[]).facts(|facts| charge(&check.cost, facts, None).unwrap());
    assert_eq!(charged.units, 500, "a request without a body says nothing");
    match charged.settled {
        Some(Settled::Usage(asking)) => asking.spoken(session),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_conversation_costs_the_sum_of_what_its_answers_tell_by_the_model_of_the_session() {
    let model = json!({ "type": "session.created", "session": { "model": "gpt-4o-realtime" } });
    let session = heard(&[model, done(10, 5), done(20, 1)]);
    // 30 + 6 * 4 = 54, ten times.
    assert_eq!(cost(&session), Some(540));
    let o1 = json!({ "session": { "model": "o1" } });
    assert_eq!(cost(&heard(&[o1, done(10, 5)])), Some(15), "30 by a half");
    // A user's words, transcribed, are told apart from the answer.
    let transcribed = json!({
        "type": "conversation.item.input_audio_transcription.completed",
        "usage": { "type": "tokens", "input_tokens": 7, "output_tokens": 2 }
    });
    // Where nobody names the model, the largest multiplier counts.
    assert_eq!(cost(&heard(&[transcribed, done(10, 5)])), Some(450));
}

#[test]
fn of_an_answer_that_did_not_end_its_text_counts_and_its_sound_does_not() {
    let text = json!({ "type": "response.output_text.delta", "delta": "twelve bytes" });
    let sound =
        json!({ "type": "response.output_audio.delta", "delta": "UklGRiQAAABXQVZF".repeat(100) });
    let words = json!({ "type": "response.output_audio_transcript.delta", "delta": "four" });
    let session = heard(&[done(10, 5), text, sound.clone(), words]);
    // 10 + 5 * 4, and sixteen bytes, which are four tokens, ten times.
    assert_eq!(cost(&session), Some(460));
    let silent = heard(&[sound]);
    assert_eq!(cost(&silent), None, "what was reserved stays charged");
    assert_eq!(cost(&heard(&[])), None);
}

#[test]
fn messages_that_cannot_be_read_and_numbers_that_are_none_tell_nothing() {
    let mut session = heard(&[done(10, 5)]);
    for broken in [
        "",
        "{",
        "null",
        "[1,2]",
        r#"{"response":{"usage":{"input_tokens":-4,"output_tokens":"5"}}}"#,
        r#"{"response":{"usage":{"input_tokens":[],"output_tokens":null}}}"#,
    ] {
        session.receive(broken);
    }
    assert_eq!(cost(&session), Some(300));
    // One that is huge is the most that may be charged, however often it is told.
    let huge = heard(&[done(u64::MAX, u64::MAX), done(u64::MAX, 1)]);
    assert!(cost(&huge).unwrap() > 1_000_000_000);
}

proptest! {
    #[test]
    fn no_message_breaks_a_conversation_or_makes_it_cheaper(
        messages in proptest::collection::vec(".{0,80}", 0..8), output in 0_u64..1_000
    ) {
        let mut session = heard(&[done(1, output)]);
        let before = cost(&session);
        for message in &messages {
            session.receive(message);
        }
        prop_assert!(cost(&session) >= before);
    }

    #[test]
    fn each_code_that_is_passed_on_may_be_sent(code in any::<u16>()) {
        for side in [Side::Client, Side::Origin] {
            if let Some(code) = passed_on(side, code) {
                let may_be_sent = (1000..=1014).contains(&code) && !(1004..=1006).contains(&code);
                prop_assert!(may_be_sent || (3000..=4999).contains(&code), "{code}");
            }
        }
    }
}
