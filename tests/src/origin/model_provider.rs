//! A provider of language models, as its published API has it, behind the test origin: OpenAI's chat completions,
//! responses and embeddings, images, audio and batches ([`super::media`]), Anthropic's messages, Gemini's `generateContent`, each whole or streamed.
//!
//! A token is a word. Where a request has tools, the answer calls the first one with these words, unless it brings that call's
//! result. What it answers is asked for in the field that names the provider's end user (`user`,
//! `metadata.user_id`, or the query for Gemini), as a query: `words=20&gap_ms=10&cached=3&reasoning=2&usage=none&fail=429`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt;
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

use weir_shared::ordered::OrderedMap;

use super::media::media;
use super::{Answer, InFlight, State, open, text};

/// Tokens that it has counted itself, of all requests.
#[derive(Debug, Default)]
pub(super) struct Counted {
    /// Of prompts.
    pub(super) input: AtomicU64,
    /// Of answers, of those that were broken off as many as were sent.
    pub(super) output: AtomicU64,
}

/// What is answered: a status, a media type, and the pieces of the body with the pause before each but the first.
#[derive(Debug)]
pub(super) struct ModelAnswer {
    /// The status.
    pub(super) status: u16,
    /// The media type.
    pub(super) media_type: &'static str,
    /// The pieces, and how many words of the answer each has.
    pub(super) pieces: Vec<(Bytes, u64)>,
    /// The pause.
    pub(super) gap: Duration,
}

/// What is asked.
pub(super) struct Ask {
    model: String,
    pub(super) streams: bool,
    includes_usage: bool,
    pub(super) input: u64,
    pub(super) output: u64,
    cached: u64,
    reasoning: u64,
    pub(super) tells_usage: bool,
    fail: Option<u16>,
    pub(super) gap: Duration,
    /// The tool that the answer calls.
    tool: Option<String>,
}

impl Ask {
    fn of(target: &str, body: &Value) -> Self {
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let user = body["user"]
            .as_str()
            .or(body["metadata"]["user_id"].as_str());
        let pairs = user.unwrap_or(query).split('&');
        let wishes: OrderedMap<&str, &str> =
            pairs.filter_map(|pair| pair.split_once('=')).collect();
        let number = |name: &str| wishes.get(name).and_then(|text| text.parse().ok());
        let most = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
        let most = most.into_iter().find_map(|name| body[name].as_u64());
        let words = number("words").unwrap_or(5);
        Self {
            model: body["model"].as_str().unwrap_or("gemini-2").to_owned(),
            streams: body["stream"] == true || target.contains(":streamGenerateContent"),
            includes_usage: body["stream_options"]["include_usage"] == true,
            input: ["messages", "input", "contents", "system", "prompt"]
                .into_iter()
                .map(|name| words_of(&body[name]))
                .sum(),
            output: most.map_or(words, |most| words.min(most)),
            cached: number("cached").unwrap_or(0),
            reasoning: number("reasoning").unwrap_or(0),
            tells_usage: wishes.get("usage") != Some(&"none"),
            fail: number("fail").and_then(|status| u16::try_from(status).ok()),
            gap: Duration::from_millis(number("gap_ms").unwrap_or(0)),
            tool: tool_of(body),
        }
    }
}

/// The first tool of a request that does not bring what one has answered.
fn tool_of(body: &Value) -> Option<String> {
    let tool = &body["tools"][0];
    let name = tool["function"]["name"]
        .as_str()
        .or(tool["name"].as_str())?;
    let asked = [&body["messages"], &body["input"]];
    let answered = |one: &Value| {
        let block = &one["content"][0];
        one["role"] == "tool"
            || one["type"] == "function_call_output"
            || block["type"] == "tool_result"
    };
    let mut asked = asked.into_iter().filter_map(Value::as_array).flatten();
    (!asked.any(answered)).then(|| name.to_owned())
}

fn words_of(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.split_whitespace().count() as u64,
        Value::Array(all) => all.iter().map(words_of).sum(),
        Value::Object(all) => {
            let named = ["content", "text", "parts"];
            named
                .into_iter()
                .filter_map(|name| all.get(name))
                .map(words_of)
                .sum()
        }
        _ => 0,
    }
}

/// Answers a request below `/v1`.
pub(super) async fn model(
    request: Request<Incoming>,
    state: &Arc<State>,
    in_flight: InFlight,
) -> Answer {
    let target = request.uri().to_string();
    let body = request.into_body().collect().await;
    let body = body.map(|body| body.to_bytes()).unwrap_or_default();
    state.bytes.fetch_add(body.len() as u64, Ordering::SeqCst);
    let Some(told) = answer(&target, &body, &state.tokens) else {
        return text(200, "ok");
    };
    let ModelAnswer {
        status,
        media_type,
        pieces,
        gap,
    } = told;
    let (mut sender, mut response) = open(status);
    let media_type = hyper::header::HeaderValue::from_static(media_type);
    let headers = response.headers_mut();
    headers.insert("content-type", media_type);
    if let [(whole, _)] = &pieces[..] {
        headers.insert("content-length", whole.len().into());
    }
    let state = Arc::clone(state);
    tokio::spawn(async move {
        let _in_flight = in_flight;
        for (number, (piece, words)) in pieces.into_iter().enumerate() {
            if number > 0 {
                tokio::time::sleep(gap).await;
            }
            if sender.send_data(piece).await.is_err() {
                return;
            }
            state.tokens.output.fetch_add(words, Ordering::SeqCst);
        }
    });
    response
}

/// What a provider answers; `None` where it has nothing.
fn answer(target: &str, body: &[u8], counted: &Counted) -> Option<ModelAnswer> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let ask = Ask::of(target, &body);
    if let Some(status) = ask.fail {
        let error =
            json!({ "error": { "type": "server_error", "message": "as asked", "code": null } });
        return Some(whole(status, &error, 0));
    }
    let path = target.split('?').next().unwrap_or_default();
    let told = match path {
        "/v1/chat/completions" => ask.chat(),
        "/v1/responses" => ask.responses(),
        "/v1/messages" => ask.messages(),
        "/v1/embeddings" => {
            let used = json!({ "prompt_tokens": ask.input, "total_tokens": ask.input });
            let data = json!([{ "object": "embedding", "index": 0, "embedding": [0.5, -0.5] }]);
            whole(
                200,
                &json!({ "object": "list", "data": data, "model": ask.model, "usage": used }),
                0,
            )
        }
        path if path.contains("enerateContent") => ask.gemini(),
        path => return media(path, &ask, counted),
    };
    counted.input.fetch_add(ask.input, Ordering::SeqCst);
    Some(told)
}

/// An answer of one JSON text, and how many words of it a model has written.
pub(super) fn whole(status: u16, body: &Value, words: u64) -> ModelAnswer {
    ModelAnswer {
        status,
        media_type: "application/json",
        pieces: vec![(Bytes::from(body.to_string()), words)],
        gap: Duration::ZERO,
    }
}

/// Events of a name each, or of none.
pub(super) fn events(
    gap: Duration,
    events: Vec<(&str, Value, u64)>,
    last: Option<&str>,
) -> ModelAnswer {
    let pieces = events.into_iter().map(|(name, data, words)| {
        let name = match name {
            "" => String::new(),
            name => format!("event: {name}\n"),
        };
        (Bytes::from(format!("{name}data: {data}\n\n")), words)
    });
    let last = last.map(|last| (Bytes::from(format!("data: {last}\n\n")), 0));
    ModelAnswer {
        status: 200,
        media_type: "text/event-stream",
        pieces: pieces.chain(last).collect(),
        gap,
    }
}

impl Ask {
    fn words(&self) -> impl Iterator<Item = String> + use<> {
        (0..self.output).map(|number| format!("word{number} "))
    }

    fn text(&self) -> String {
        self.words().collect()
    }

    fn openai_usage(&self, [input, output]: [&str; 2]) -> Value {
        json!({
            format!("{input}_tokens"): self.input,
            format!("{output}_tokens"): self.output,
            "total_tokens": self.input + self.output,
            format!("{input}_tokens_details"): { "cached_tokens": self.cached },
            format!("{output}_tokens_details"): { "reasoning_tokens": self.reasoning },
        })
    }

    fn chat(&self) -> ModelAnswer {
        let usage = self.openai_usage(["prompt", "completion"]);
        let answer = |object: &str, choices: Value| json!({ "id": "chatcmpl-1", "object": object, "created": 1, "model": self.model, "choices": choices });
        let end = match self.tool {
            Some(_) => "tool_calls",
            None => "stop",
        };
        if !self.streams {
            let mut message =
                json!({ "role": "assistant", "content": self.text(), "refusal": null });
            if let Some(tool) = &self.tool {
                message["content"] = Value::Null;
                let function = json!({ "name": tool, "arguments": self.arguments().concat() });
                message["tool_calls"] =
                    json!([{ "id": "call_1", "type": "function", "function": function }]);
            }
            let choices =
                json!([{ "index": 0, "message": message, "logprobs": null, "finish_reason": end }]);
            let mut body = answer("chat.completion", choices);
            if self.tells_usage {
                body["usage"] = usage;
            }
            return whole(200, &body, self.output);
        }
        let tells = self.includes_usage && self.tells_usage;
        let chunk = |delta: Value, end: Value| {
            let choices =
                json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": end }]);
            let mut chunk = answer("chat.completion.chunk", choices);
            if tells {
                chunk["usage"] = Value::Null;
            }
            chunk
        };
        let mut begins = json!({ "role": "assistant", "content": "" });
        if let Some(tool) = &self.tool {
            let function = json!({ "name": tool, "arguments": "" });
            begins["content"] = Value::Null;
            begins["tool_calls"] =
                json!([{ "index": 0, "id": "call_1", "type": "function", "function": function }]);
        }
        let deltas: Vec<Value> = match self.tool {
            Some(_) => {
                let arguments = self.arguments().into_iter();
                let calls = arguments
                    .map(|piece| json!({ "index": 0, "function": { "arguments": piece } }));
                calls.map(|call| json!({ "tool_calls": [call] })).collect()
            }
            None => self
                .words()
                .map(|word| json!({ "content": word }))
                .collect(),
        };
        let mut all = vec![("", chunk(begins, Value::Null), 0)];
        all.extend(
            deltas
                .into_iter()
                .map(|delta| ("", chunk(delta, Value::Null), 1)),
        );
        all.push(("", chunk(json!({}), json!(end)), 0));
        if tells {
            let mut last = answer("chat.completion.chunk", json!([]));
            last["usage"] = usage;
            all.push(("", last, 0));
        }
        events(self.gap, all, Some("[DONE]"))
    }

    /// The arguments of a call, `{"city":"word0 word1 "}`, a word a piece.
    fn arguments(&self) -> Vec<String> {
        let mut pieces: Vec<String> = self.words().collect();
        if let Some(first) = pieces.first_mut() {
            first.insert_str(0, "{\"city\":\"");
        }
        if let Some(last) = pieces.last_mut() {
            last.push_str("\"}");
        }
        pieces
    }

    fn responses(&self) -> ModelAnswer {
        let output = match &self.tool {
            Some(tool) => json!([{
                "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "status": "completed",
                "arguments": self.arguments().concat(),
            }]),
            None => {
                let text = json!({ "type": "output_text", "text": self.text(), "annotations": [] });
                json!([{ "type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text] }])
            }
        };
        let mut body = json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": self.model,
            "output": output,
        });
        if self.tells_usage {
            body["usage"] = self.openai_usage(["input", "output"]);
        }
        if !self.streams {
            return whole(200, &body, self.output);
        }
        let created = json!({ "type": "response.created", "response": { "id": "resp_1", "model": self.model, "usage": null } });
        let mut all = vec![("response.created", created, 0)];
        let (name, item, pieces) = match self.tool {
            Some(_) => (
                "response.function_call_arguments.delta",
                "fc_1",
                self.arguments(),
            ),
            None => (
                "response.output_text.delta",
                "msg_1",
                self.words().collect(),
            ),
        };
        let delta = |piece: String| json!({ "type": name, "item_id": item, "output_index": 0, "delta": piece });
        all.extend(pieces.into_iter().map(|piece| (name, delta(piece), 1)));
        let completed = json!({ "type": "response.completed", "response": body });
        all.push(("response.completed", completed, 0));
        events(self.gap, all, None)
    }

    fn messages(&self) -> ModelAnswer {
        let usage = |output: u64| {
            json!({
                "input_tokens": self.input - self.cached, "cache_read_input_tokens": self.cached,
                "cache_creation_input_tokens": 0, "output_tokens": output,
            })
        };
        let message = |content: Value, output: u64, end: Value| {
            let mut message = json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": self.model, "content": content,
                "stop_reason": end, "stop_sequence": null,
            });
            if self.tells_usage {
                message["usage"] = usage(output);
            }
            message
        };
        let end = match self.tool {
            Some(_) => "tool_use",
            None => "end_turn",
        };
        if !self.streams {
            let content = match &self.tool {
                Some(tool) => {
                    json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": { "city": self.text() } })
                }
                None => json!({ "type": "text", "text": self.text() }),
            };
            let whole_message = message(json!([content]), self.output, json!(end));
            return whole(200, &whole_message, self.output);
        }
        let (block, pieces) = match &self.tool {
            Some(tool) => (
                json!({ "type": "tool_use", "id": "toolu_1", "name": tool, "input": {} }),
                self.arguments(),
            ),
            None => (
                json!({ "type": "text", "text": "" }),
                self.words().collect(),
            ),
        };
        let begun = message(json!([]), 1, Value::Null);
        let mut all = vec![
            (
                "message_start",
                json!({ "type": "message_start", "message": begun }),
                0,
            ),
            (
                "content_block_start",
                json!({ "type": "content_block_start", "index": 0, "content_block": block }),
                0,
            ),
            ("ping", json!({ "type": "ping" }), 0),
        ];
        all.extend(pieces.into_iter().map(|piece| {
            let delta = match self.tool {
                Some(_) => json!({ "type": "input_json_delta", "partial_json": piece }),
                None => json!({ "type": "text_delta", "text": piece }),
            };
            (
                "content_block_delta",
                json!({ "type": "content_block_delta", "index": 0, "delta": delta }),
                1,
            )
        }));
        all.push((
            "content_block_stop",
            json!({ "type": "content_block_stop", "index": 0 }),
            0,
        ));
        let mut ends = json!({ "type": "message_delta", "delta": { "stop_reason": end, "stop_sequence": null } });
        if self.tells_usage {
            ends["usage"] = json!({ "output_tokens": self.output });
        }
        all.push(("message_delta", ends, 0));
        all.push(("message_stop", json!({ "type": "message_stop" }), 0));
        events(self.gap, all, None)
    }

    fn gemini(&self) -> ModelAnswer {
        let part = |text: &str, so_far: u64| {
            let content = json!({ "role": "model", "parts": [{ "text": text }] });
            let mut part = json!({ "candidates": [{ "content": content, "index": 0 }], "modelVersion": self.model });
            if self.tells_usage {
                part["usageMetadata"] = json!({
                    "promptTokenCount": self.input, "cachedContentTokenCount": self.cached,
                    "candidatesTokenCount": so_far, "thoughtsTokenCount": self.reasoning,
                });
            }
            part
        };
        if !self.streams {
            return whole(200, &part(&self.text(), self.output), self.output);
        }
        let words = self.words().zip(1..);
        let all = words
            .map(|(word, so_far)| ("", part(&word, so_far), 1))
            .collect();
        events(self.gap, all, None)
    }
}
