//! What the README shows beyond its first lines, with whatever stands around it in an application.

use anyhow::Result;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::json;
use tower_layer::Layer;
use weir_client::{Decision, Item, Outcome, Weir, WeirLayer};

use super::shared::{TENANT, client, settled_left, tell};

struct Usage {
    total_tokens: u64,
}

struct Answer {
    usage: Usage,
}

#[derive(Debug)]
struct ModelError;

/// A model that always uses as much.
struct Model;

impl Model {
    async fn complete(&self, prompt: &str) -> Result<Answer, ModelError> {
        let total_tokens = match prompt {
            "" => return Err(ModelError),
            _ => 400,
        };
        let usage = Usage { total_tokens };
        Ok(Answer { usage })
    }
}

fn too_many(decision: Decision) -> Result<Answer, ModelError> {
    let total_tokens = decision.remaining;
    let usage = Usage { total_tokens };
    Ok(Answer { usage })
}

async fn complete(weir: &Weir, prompt: &str) -> Result<bool> {
    let (tenant, model) = (TENANT, Model);
    let outcome = weir
        .reserve(
            Item::budget("tokens").cost(1500).tenant(tenant),
            |reservation| async move {
                let answer = model.complete(prompt).await?;
                reservation.used(answer.usage.total_tokens);
                Ok::<_, ModelError>(answer)
            },
        )
        .await?;
    let answer = match outcome {
        Outcome::Allowed { value, .. } => value,
        Outcome::Denied(decision) => too_many(decision),
    };
    Ok(answer.is_ok())
}

fn layered(weir: Weir, application: impl Clone) {
    let layer = WeirLayer::new(weir, |head| {
        let who = head.headers.get("x-account")?.to_str().ok()?;
        Some(Item::limit("per_account").key(who).into())
    });
    let service = layer.layer(application);
    drop(service);
}

pub async fn run() -> Result<()> {
    let weir = client()?;
    layered(weir.clone(), Full::<Bytes>::default());
    let answered = [
        complete(&weir, "a prompt").await?,
        complete(&weir, "").await?,
    ];
    tell(&json!({ "answered": answered, "left": settled_left(&weir, 4_600).await? }));
    Ok(())
}
