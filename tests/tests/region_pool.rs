//! A window split between regions by the real coordinator, grant for grant as the golden vectors have it.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use weir_shared::fairness::weight::Weight;
use weir_shared::units::EpochMs;
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::region_pool::{RegionPoolAsk, RegionPoolBody, RegionPoolReply};
use weir_tests::witness::Witness;
use weir_tests::workerd::Setup;

#[derive(Deserialize)]
struct Sequence {
    id: String,
    config: Value,
    ops: Vec<Op>,
}

#[derive(Deserialize)]
struct Op {
    t: Value,
    op: String,
    args: Value,
    result: Value,
}

/// What a sequence came to: grants that were equal, and operations of windows in which fractions were granted.
#[derive(Default)]
struct Counts {
    equal: u64,
    skipped: u64,
}

#[tokio::test]
async fn the_coordinator_grants_as_the_vectors_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = path.join("../shared/tests/vectors/region_fair_pool.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are there");
    let workerd = Setup::isolates(&["weur"])
        .witnessed()
        .start()
        .await
        .unwrap();
    let witness = workerd.witness().unwrap();
    let mut counts = Counts::default();
    for line in text.lines() {
        let sequence: Sequence = serde_json::from_str(line).unwrap();
        replay(&witness, &sequence, &mut counts).await;
    }
    println!(
        "{} grants equal, {} not compared",
        counts.equal, counts.skipped
    );
    assert!(counts.equal > 2 * counts.skipped && counts.equal > 300);
}

async fn replay(witness: &Witness, sequence: &Sequence, counts: &mut Counts) {
    let limit = sequence.config["limit"].as_f64().unwrap() as u64;
    let window_ms = sequence.config["windowMs"].as_u64().unwrap();
    // From a fraction to the end of its window a pool of whole units has other numbers.
    let mut fractions_until = 0;
    for op in &sequence.ops {
        let Some(at) = whole(&op.t) else {
            return;
        };
        if at < fractions_until || op.result.get("error").is_some() {
            counts.skipped += 1;
            continue;
        }
        let region = op.args["region"].as_str().unwrap_or_default().to_owned();
        let ask = match op.op.as_str() {
            "release" => RegionPoolAsk::Release { region },
            "grant" => {
                let (weight, want) = (&op.args["weight"], whole(&op.args["want"]));
                let weight = Weight::try_from(weight.as_f64().unwrap()).ok();
                let (Some(weight), Some(want)) = (weight, want) else {
                    fractions_until = (at / window_ms + 1) * window_ms;
                    counts.skipped += 1;
                    continue;
                };
                let weight_micros = Count(weight.micros().into());
                RegionPoolAsk::Grant {
                    region,
                    weight_micros,
                    want,
                }
            }
            _ => continue,
        };
        let grants = matches!(ask, RegionPoolAsk::Grant { .. });
        let body = RegionPoolBody {
            v: VERSION,
            pool: sequence.id.clone(),
            limit,
            window_ms,
            at: Some(EpochMs(at)),
            ask,
        };
        let object = ("COORDINATOR", sequence.id.as_str());
        let reply: RegionPoolReply = witness.call(object, "split", &body).await.unwrap();
        assert!(reply.granted_total <= limit, "{}: {reply:?}", sequence.id);
        if grants {
            assert_eq!(
                whole(&op.result),
                Some(reply.granted),
                "{} at {at}",
                sequence.id
            );
            counts.equal += 1;
        }
    }
}

fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64()?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64)
}
