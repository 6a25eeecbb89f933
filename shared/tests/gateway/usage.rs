//! What answers tell of what was used, in whatever pieces they come.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use weir_shared::gateway::cost::{Settled, charge};
use weir_shared::gateway::facts::BodyLength;
use weir_shared::gateway::usage::json_scanner::{JsonScanner, Paths, Value};
use weir_shared::gateway::usage::reader::{AnswerForm, UsageReader};
use weir_shared::gateway::usage::request::ModelRequest;
use weir_shared::gateway::usage::tokens::Tokens;
use weir_shared::limits::{COST_MAX, EVENT_BYTES_MAX, SCAN_DEPTH_MAX};
use weir_shared::policy::route::{Cost, Usage, UsageFormat};

use super::document::{Sent, are_refused};

fn usage(body: Json) -> Usage {
    Usage::read(&serde_json::from_value(body).unwrap()).unwrap()
}

/// What an answer tells that comes in pieces of so many bytes, and what passed on.
fn read(format: &UsageFormat, form: AnswerForm, text: &str, piece: usize) -> (UsageReader, String) {
    let mut reader = UsageReader::new(format, form, true);
    let mut passed = Vec::new();
    for piece in text.as_bytes().chunks(piece) {
        match reader.feed(piece) {
            None => passed.extend_from_slice(piece),
            Some(instead) => passed.extend(instead),
        }
    }
    passed.extend(reader.end());
    (reader, String::from_utf8(passed).unwrap())
}

fn tokens(input: u64, cached_input: u64, output: u64, reasoning: u64) -> Tokens {
    Tokens {
        input,
        cached_input,
        output,
        reasoning,
        total: 0,
    }
}

#[test]
fn each_provider_s_answer_is_read_whatever_pieces_it_comes_in() {
    let anthropic = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude\",\
        \"usage\":{\"input_tokens\":9,\"cache_read_input_tokens\":4,\"cache_creation_input_tokens\":2,\"output_tokens\":1}}}\n\n\
        event: content_block_delta\ndata: {\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n\
        event: message_delta\ndata: {\"delta\":{},\"usage\":{\"output_tokens\":15}}\n\n";
    let gemini = "data: {\"candidates\":[],\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":1}}\r\n\r\n\
        data: {\"usageMetadata\":{\"promptTokenCount\":9,\"cachedContentTokenCount\":4,\"candidatesTokenCount\":6,\
        \"thoughtsTokenCount\":3}}\r\n\r\n";
    let chat = "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n\
        data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":6,\
        \"prompt_tokens_details\":{\"cached_tokens\":4},\"completion_tokens_details\":{\"reasoning_tokens\":2}}}\n\ndata: [DONE]\n\n";
    let responses = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"gpt-5\",\
        \"output\":[{\"content\":[{\"text\":\"hi\"}]}],\"usage\":{\"input_tokens\":9,\"output_tokens\":6,\
        \"input_tokens_details\":{\"cached_tokens\":4}}}}\n\n";
    let listed = "[{\"usageMetadata\":{\"promptTokenCount\":9}},\n{\"usageMetadata\":{\"promptTokenCount\":9,\"candidatesTokenCount\":6}}]";
    let cases = [
        (
            UsageFormat::Anthropic,
            AnswerForm::Events,
            anthropic,
            tokens(11, 4, 15, 0),
        ),
        (
            UsageFormat::Gemini,
            AnswerForm::Events,
            gemini,
            tokens(5, 4, 6, 3),
        ),
        (
            UsageFormat::OpenAi,
            AnswerForm::Events,
            chat,
            tokens(5, 4, 4, 2),
        ),
        (
            UsageFormat::OpenAi,
            AnswerForm::Events,
            responses,
            tokens(5, 4, 6, 0),
        ),
        (
            UsageFormat::Gemini,
            AnswerForm::Json,
            listed,
            tokens(9, 0, 6, 0),
        ),
    ];
    for (format, form, text, expected) in cases {
        for piece in 1..text.len() + 1 {
            let (reader, _) = read(&format, form, text, piece);
            assert_eq!(
                reader.tokens(0),
                Some(expected),
                "{format:?} in pieces of {piece}"
            );
        }
    }
}

#[test]
fn the_event_that_is_there_for_usage_alone_is_left_out_and_no_other_byte() {
    let before =
        ": comment\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"hi\"}}],\"usage\":null}\n\n";
    let extra =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":6}}\n\n";
    // Some tell what was used so far beside each part of the answer: that part stays.
    let beside = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":{\"completion_tokens\":6}}\n\n";
    let long = format!(
        "data: {{\"choices\":[],\"pad\":\"{}\",\"usage\":{{\"prompt_tokens\":9}}}}\n\n",
        "x".repeat(EVENT_BYTES_MAX)
    );
    let last = "data: [DONE]\n\nevent: cut off";
    for piece in [1, 2, 3, 7, 50, 1_000, 100_000] {
        let text = format!("{before}{extra}{beside}{long}{last}");
        let (reader, passed) = read(&UsageFormat::OpenAi, AnswerForm::Events, &text, piece);
        // One that is longer than what is held back passes, but where it comes in one piece.
        let held = format!("{before}{beside}{last}");
        let loose = format!("{before}{beside}{long}{last}");
        assert!(
            passed == loose || passed == held,
            "in pieces of {piece}: {passed}"
        );
        assert_eq!(reader.tokens(0).unwrap().input, 9);
    }
}

#[test]
fn what_is_broken_is_passed_over_and_what_is_told_twice_counts_once() {
    let told = |text: &str| {
        let (reader, _) = read(&UsageFormat::OpenAi, AnswerForm::Events, text, 16);
        reader.tokens(7).unwrap()
    };
    let event = |usage: &str| format!("data: {{\"usage\":{usage}}}\n\n");
    let good = event("{\"prompt_tokens\":9,\"completion_tokens\":6}");
    for broken in [
        event("{\"prompt_tokens\":-5,\"completion_tokens\":-1}"),
        event("{\"prompt_tokens\":\"many\",\"completion_tokens\":null}"),
        event("[1,2"),
        "data: {\"usage\":{\"prompt_tokens\":5\n\n".to_owned(),
        "data: }{][\n\n".to_owned(),
        "data\n\n\n\n:\ndata:\n\n".to_owned(),
        format!("data: {}\n\n", "[".repeat(100_000)),
        good.clone(),
    ] {
        assert_eq!(
            told(&format!("{broken}{good}")),
            tokens(9, 0, 6, 0),
            "{broken:.80}"
        );
    }
    // Nothing told: the prompt that was read, and four bytes of text a token.
    assert_eq!(
        told("data: {\"choices\":[{\"delta\":{\"content\":\"12345678\"}}]}\n\n"),
        tokens(7, 0, 2, 0)
    );
    let huge = told(&event(
        "{\"prompt_tokens\":99999999999999999999999,\"completion_tokens\":1e300}",
    ));
    let dear = usage(
        json!({ "format": "openai", "reserve": 1, "weights": { "input": 1_000_000 }, "models": { "*": 1_000_000 } }),
    );
    assert_eq!(huge.cost(&dear, Some("m")), COST_MAX);
}

#[test]
fn a_pointer_tells_units_wherever_it_leads() {
    let of = |pointer: &str, text: &str| {
        let usage =
            usage(json!({ "format": { "pointer": pointer }, "reserve": 5, "models": { "*": 3 } }));
        let (reader, _) = read(&usage.format, AnswerForm::Json, text, 3);
        reader.tokens(0).map(|tokens| tokens.cost(&usage, None))
    };
    let text = r#"{"a/b":[{"~":1},{"~":2.5}],"usage":{"total":7},"x":{"usage":{"total":9}}}"#;
    assert_eq!(of("/usage/total", text), Some(21));
    assert_eq!(of("/a~1b/1/~0", text), Some(9), "2.5 are 3, by three");
    assert_eq!(of("/x/usage/total", text), Some(27));
    assert_eq!(of("/usage", text), None, "no number stands there");
}

fn reserved(body: &Json, bound: Json) -> (u64, u64) {
    let text = body.to_string();
    let sent = Sent {
        method: "POST",
        host: "api.example.com",
        path: "/",
        headers: &[],
        body: BodyLength::Known(text.len() as u64),
    };
    let said = ModelRequest::read(text.as_bytes(), 0);
    let cost = Cost::Usage(Arc::new(usage(bound)));
    let charged = sent
        .facts(|facts| charge(&cost, facts, Some(&said)))
        .unwrap();
    let Some(Settled::Usage(asking)) = charged.settled else {
        panic!("it is settled");
    };
    // A stream that broke off before its first word.
    let reader = UsageReader::new(&UsageFormat::OpenAi, AnswerForm::Events, false);
    (charged.units, asking.actual(&reader).unwrap())
}

#[test]
fn a_request_reserves_its_prompt_and_the_most_that_it_asks_for_up_to_the_bound() {
    let bound = || json!({ "format": "openai", "reserve": 500, "weights": { "output": 4 }, "models": { "gpt-4o*": 10 } });
    let prompt = json!([{ "role": "user", "content": "x".repeat(40) }]);
    let ask =
        |model: &str, max: Json| json!({ "model": model, "max_tokens": max, "messages": prompt });
    // 40 bytes are ten tokens; five more of the answer at four each.
    assert_eq!(reserved(&ask("o1", json!(5)), bound()), (30, 10));
    assert_eq!(reserved(&ask("gpt-4o-mini", json!(5)), bound()), (300, 100));
    assert_eq!(reserved(&ask("o1", json!(100_000)), bound()), (500, 10));
    assert_eq!(reserved(&ask("o1", Json::Null), bound()), (500, 10));
    let mut wider = bound();
    wider["reserve_max"] = json!(1_000_000);
    assert_eq!(reserved(&ask("o1", json!(100_000)), wider), (400_010, 10));
    let twice = json!({ "model": "o1", "max_completion_tokens": 5, "n": 2, "messages": prompt });
    assert_eq!(reserved(&twice, bound()), (50, 10));
    let empty = json!({ "model": "o1", "max_tokens": 0, "messages": [] });
    assert_eq!(reserved(&empty, bound()), (1, 1), "never nothing");
}

#[test]
fn a_model_that_readers_could_read_otherwise_is_the_answer_s_to_name() {
    let model = |body: &str, rest: u64| ModelRequest::read(body.as_bytes(), rest).model;
    let plain = r#"{"model":"dear","messages":[]}"#;
    assert_eq!(model(plain, 0).as_deref(), Some("dear"));
    for body in [
        r#"{"model":"cheap","mod\u0065l":"dear"}"#,
        r#"{"model":"cheap","model":"dear"}"#,
        r#"{"model":"cheap","model":["dear"]}"#,
        r#"{"model":"ch\u0065ap"}"#,
        r#"{"messages":[]}"#,
    ] {
        assert_eq!(model(body, 0), None, "{body}");
    }
    let begun = r#"{"model":"cheap","messages":["#;
    assert_eq!(model(begun, 1_000), None, "another may follow");
    // What stands deeper is nobody's model.
    let deep = r#"{"model":"dear","messages":[{"mod\u0065l":"x","model":"y"}]}"#;
    assert_eq!(model(deep, 0).as_deref(), Some("dear"));
}

#[test]
fn a_stream_is_asked_for_usage_once_wherever_its_options_stand() {
    let asked = |body: &str| {
        let asking = ModelRequest::read(body.as_bytes(), 0).with_usage(body.as_bytes());
        asking.map(|bytes| serde_json::from_slice::<Json>(&bytes).unwrap())
    };
    for (body, options) in [
        (
            r#" {"messages":[],"stream":true}"#,
            json!({ "include_usage": true }),
        ),
        (
            r#"{"stream":true,"prompt":"x"}"#,
            json!({ "include_usage": true }),
        ),
        (
            r#"{"messages":[],"stream_options":null,"stream":true}"#,
            json!({ "include_usage": true }),
        ),
        (
            r#"{"messages":[],"stream":true,"stream_options": { } }"#,
            json!({ "include_usage": true }),
        ),
        (
            r#"{"messages":[],"stream":true,"stream_options":{"a":1}}"#,
            json!({ "a": 1, "include_usage": true }),
        ),
        (
            r#"{"messages":[],"stream":true,"stream_options":{"a":{},"include_usage":false}}"#,
            json!({ "a": {}, "include_usage": true }),
        ),
    ] {
        let mut expected: Json = serde_json::from_str(body).unwrap();
        expected["stream_options"] = options;
        assert_eq!(asked(body), Some(expected), "{body}");
    }
    for body in [
        r#"{"messages":[],"stream":true,"stream_options":{"include_usage":true}}"#,
        r#"{"messages":[],"stream":false}"#,
        r#"{"input":"x","stream":true}"#,
        r#"{"inner":{"messages":[],"stream":true}}"#,
        r#"{"messages":[],"stream":true,"stream_options":5}"#,
        r#"{"messages":[],"stream":true,"stream_options":{"include_usage":false,"include_usage":{}}}"#,
        r#"{"messages":[],"stream":true,"stream_options":null,"stream_options":{}}"#,
        r#"{"messages":[],"stream":true,"stream_options":{"include_usage":false,"a":{}},"stream_options":-1}"#,
        "",
    ] {
        assert_eq!(asked(body), None, "{body}");
    }
    // Of a body that was not read to its end nobody knows what follows.
    let body = br#"{"messages":[],"stream":true,"#;
    assert!(!ModelRequest::read(body, 100).wants_usage());
    // Nor of one that is nested more deeply than anybody reads.
    let nested = |depth: usize| {
        let (open, shut) = ("[".repeat(depth), "]".repeat(depth));
        format!(
            r#"{{"stream":true,"prompt":{open}"x"{shut},"stream_options":{{"include_usage":true}}}}"#
        )
    };
    assert_eq!(asked(&nested(1)), None);
    assert_eq!(asked(&nested(SCAN_DEPTH_MAX)), None);
}

#[test]
fn what_a_policy_must_not_say_of_usage_is_refused_where_it_stands() {
    let at = "/routes/0/checks/0/cost";
    let usage = |body: Json| json!({ "usage": body });
    are_refused(vec![
        (
            at,
            usage(json!({ "reserve": 5 })),
            "/usage/format",
            "is required",
        ),
        (
            at,
            usage(json!({ "format": "openai" })),
            "/usage/reserve",
            "is required",
        ),
        (
            at,
            usage(json!({ "format": {}, "reserve": 1 })),
            "/usage/format/pointer",
            "is required",
        ),
        (
            at,
            usage(json!({ "format": { "pointer": "usage" }, "reserve": 1 })),
            "/usage/format/pointer",
            "is not a JSON pointer to a member: it begins with no /",
        ),
        (
            at,
            usage(json!({ "format": { "pointer": "/u" }, "reserve": 1, "weights": {} })),
            "/usage/weights",
            "does not belong to a pointer, which tells units and not tokens",
        ),
        (
            at,
            usage(json!({ "format": "gemini", "reserve": 1, "weights": { "output": -1 } })),
            "/usage/weights/output",
            "-1 is outside 0.000001 to 1000000",
        ),
        (
            at,
            usage(json!({ "format": "gemini", "reserve": 1, "models": { "a*": 0 } })),
            "/usage/models/a*",
            "0 is outside 0.000001 to 1000000",
        ),
        (
            "/routes/0/inject_usage",
            json!(true),
            "",
            "does not belong to a route without a cost by usage in the format \"openai\"",
        ),
    ]);
}

/// A document of any shape, with the names that are looked for.
fn document() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<u32>().prop_map(Json::from),
        (-1e6..1e6).prop_map(Json::from),
        "[ -~é\u{1F600}\\\\\"]{0,12}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let name = prop_oneof![
            Just("a".to_owned()),
            Just("b".to_owned()),
            "[a-c\"\\\\]{0,3}"
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(name, inner, 0..5)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn a_text_ends_after_its_last_quote() {
    let text = r#"{"a":"b\"c","d":"ef"}"#;
    let mut scanner = JsonScanner::new(Paths::Named(vec![&["a"], &["d"]]), &[]);
    let mut found = Vec::new();
    // Past the first piece, an end is counted from the beginning of the document.
    for piece in [&text[..9], &text[9..]] {
        scanner.feed(piece.as_bytes(), &mut |one| {
            found.push((one.path, one.start as usize, one.end as usize));
        });
    }
    let words: Vec<_> = found
        .iter()
        .map(|(path, start, end)| (*path, &text[*start..*end]))
        .collect();
    assert_eq!(words, [(0, r#""b\"c""#), (1, r#""ef""#)]);
}

proptest! {
    #[test]
    fn any_document_in_any_pieces_tells_what_a_reader_of_the_whole_finds(
        document in document(), piece in 1_usize..20, pretty: bool,
    ) {
        let text = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };
        for pointer in ["/a", "/b/a", "/a/0", "/a/b/1"] {
            let parts = pointer[1..].split('/').map(str::to_owned).collect();
            let mut scanner = JsonScanner::new(Paths::Pointer(parts), &[]);
            let mut found = None;
            for piece in text.as_bytes().chunks(piece) {
                scanner.feed(piece, &mut |one| {
                    if let Value::Number(number) = one.value {
                        found = Some((number, one.start, one.end));
                    }
                });
            }
            let expected = document.pointer(pointer).and_then(Json::as_f64).filter(|number| *number >= 0.0);
            prop_assert_eq!(found.map(|(number, ..)| number), expected.map(|number| number.ceil() as u64), "{}", pointer);
            if let Some((_, start, end)) = found {
                let word: f64 = text[start as usize..end as usize].parse().unwrap();
                prop_assert_eq!(Some(word), expected);
            }
        }
    }

    #[test]
    fn no_bytes_in_any_pieces_make_it_lose_its_way(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        for form in [AnswerForm::Json, AnswerForm::Events] {
            let mut reader = UsageReader::new(&UsageFormat::OpenAi, form, true);
            let mut passed = Vec::new();
            for piece in bytes.chunks(piece) {
                match reader.feed(piece) {
                    None => passed.extend_from_slice(piece),
                    Some(instead) => passed.extend(instead),
                }
            }
            passed.extend(reader.end());
            prop_assert_eq!(&passed, &bytes, "nothing here tells usage");
            let _ = reader.tokens(1);
        }
        let _ = ModelRequest::read(&bytes, 3).with_usage(&bytes);
    }
}

#[test]
fn a_text_that_is_too_deep_is_not_followed() {
    let open = "[".repeat(SCAN_DEPTH_MAX + 1);
    let text = format!(
        "{{\"x\":{open}1{},\"usage\":{{\"prompt_tokens\":9}}}}",
        "]".repeat(SCAN_DEPTH_MAX + 1)
    );
    let (reader, _) = read(&UsageFormat::OpenAi, AnswerForm::Json, &text, 10);
    assert!(!reader.tells());
}

#[test]
fn an_object_or_an_array_that_ends_after_a_comma_or_before_a_value_is_no_json() {
    let is_whole = |text: &str| {
        let mut scanner = JsonScanner::new(Paths::Named(vec![]), &[]);
        scanner.feed(text.as_bytes(), &mut |_| {});
        scanner.is_whole()
    };
    for text in ["{}", "[]", "[{}]", r#"{"a":[]}"#, r#"{"a":1}"#, "[1]"] {
        assert!(is_whole(text), "{text}");
    }
    for text in [
        r#"{"a":1,}"#,
        "[1,]",
        r#"{"a":}"#,
        r#"{"a":]"#,
        "[}",
        "{]",
        "[1,,2]",
    ] {
        assert!(!is_whole(text), "{text}");
    }
}
