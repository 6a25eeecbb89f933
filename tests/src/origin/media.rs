//! What a provider answers that makes pictures and sounds, hears speech, and works batches off (OpenAI API reference, "Images",
//! "Audio", "Files", "Batches").

use std::sync::atomic::Ordering;

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::model_provider::{Ask, Counted, ModelAnswer, events, whole};

/// Tokens of speech that is heard, and its seconds.
const HEARD: u64 = 14;
const SECONDS: f64 = 8.47;

/// What is answered at a path; `None` where it has nothing. A picture has a token a word that is asked for.
pub(super) fn media(path: &str, ask: &Ask, counted: &Counted) -> Option<ModelAnswer> {
    let used = |input: u64, output: u64| {
        counted.input.fetch_add(input, Ordering::SeqCst);
        json!({ "input_tokens": input, "output_tokens": output, "total_tokens": input + output })
    };
    let told = match path {
        "/v1/images/generations" | "/v1/images/edits" => {
            let picture = "iVBORw0KGgo".repeat(2_000);
            let mut usage = used(ask.input, ask.output);
            usage["input_tokens_details"] = json!({ "text_tokens": ask.input, "image_tokens": 0 });
            if ask.streams {
                let part = |name: &str| json!({ "type": name, "b64_json": picture, "partial_image_index": 0 });
                let mut last = part("image_generation.completed");
                last["usage"] = usage;
                let parts = vec![
                    (
                        "image_generation.partial_image",
                        part("image_generation.partial_image"),
                        0,
                    ),
                    ("image_generation.completed", last, ask.output),
                ];
                return Some(events(ask.gap, parts, None));
            }
            let body = json!({ "created": 1, "data": [{ "b64_json": picture }], "usage": usage });
            whole(200, &body, ask.output)
        }
        "/v1/audio/transcriptions" => {
            let mut usage = used(HEARD, ask.output);
            usage["type"] = json!("tokens");
            usage["input_token_details"] = json!({ "text_tokens": 0, "audio_tokens": HEARD });
            whole(
                200,
                &json!({ "text": "what was said", "usage": usage }),
                ask.output,
            )
        }
        "/v1/audio/timed" => {
            let usage = json!({ "type": "duration", "seconds": SECONDS });
            let mut body = json!({ "text": "what was said" });
            if ask.tells_usage {
                body["usage"] = usage;
            }
            whole(200, &body, 0)
        }
        "/v1/audio/speech" => ModelAnswer {
            status: 200,
            media_type: "audio/mpeg",
            pieces: vec![(Bytes::from(vec![0xff; 4_000]), 0)],
            gap: ask.gap,
        },
        "/v1/files" => whole(
            200,
            &json!({ "id": "file-1", "object": "file", "purpose": "batch" }),
            0,
        ),
        path if path.starts_with("/v1/batches") => {
            // A batch that has ended tells what it took, as often as it is asked for.
            let ended = path != "/v1/batches";
            let usage = match ended {
                true => json!({ "input_tokens": 900, "output_tokens": 90, "total_tokens": 990 }),
                false => Value::Null,
            };
            let status = if ended { "completed" } else { "validating" };
            whole(
                200,
                &json!({ "id": "batch_1", "object": "batch", "status": status, "usage": usage }),
                0,
            )
        }
        _ => return None,
    };
    Some(told)
}
