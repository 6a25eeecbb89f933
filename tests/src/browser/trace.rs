//! The browser's own trace: each task of the page's main thread, with how long it took.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use weir_shared::ordered::OrderedSet;

use super::Browser;

/// Where the browser writes down the tasks of a thread, its name, and the marks of a page.
const CATEGORIES: &str =
    "disabled-by-default-devtools.timeline,devtools.timeline,__metadata,blink.user_timing";

/// How the marks of [`Browser::phase`] begin.
const PHASE: &str = "phase: ";

/// One task of the main thread of a page.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The phase in which it began.
    pub phase: String,
    /// From its begin to its end.
    pub wall: Duration,
    /// What the thread itself worked on it: less than `wall` when another program had the processor.
    pub worked: Duration,
    /// What it did that took longest, in the words of the trace.
    pub within: String,
}

/// What the driver has to be asked for, so that it keeps the trace and nothing else.
pub(super) fn preferences() -> Value {
    json!({ "enableNetwork": false, "enablePage": false, "traceCategories": CATEGORIES })
}

impl Browser {
    /// Marks the begin of a phase in the trace.
    pub async fn phase(&self, name: &str) -> Result<()> {
        let mark = json!(format!("{PHASE}{name}"));
        self.evaluate("performance.mark(arguments[0])", vec![mark])
            .await?;
        Ok(())
    }

    /// The tasks of the main thread of the page that was marked that took at least so long, from the first mark on.
    /// Only of a browser that was started traced, and only once: the driver keeps nothing of what comes after.
    pub async fn tasks(&self, least: Duration) -> Result<Vec<Task>> {
        let reply = self
            .command("se/log", json!({ "type": "performance" }))
            .await?;
        let entries = reply.as_array().context("the log is not a list")?;
        let events: Vec<Value> = entries.iter().filter_map(event).collect();
        Ok(tasks(&events, least))
    }
}

/// The event of the trace that an entry of the log carries.
fn event(entry: &Value) -> Option<Value> {
    let mut message: Value = serde_json::from_str(entry["message"].as_str()?).ok()?;
    let mut message = message["message"].take();
    (message["method"] == "Tracing.dataCollected").then(|| message["params"].take())
}

fn tasks(events: &[Value], least: Duration) -> Vec<Task> {
    let thread = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let phases: Vec<(&str, &Value)> = events
        .iter()
        .filter_map(|event| Some((event["name"].as_str()?.strip_prefix(PHASE)?, event)))
        .collect();
    let mains: OrderedSet<_> = phases.iter().map(|(_, mark)| thread(mark)).collect();
    let of_mains: Vec<&Value> = events
        .iter()
        .filter(|event| event["ph"] == "X" && mains.contains(&thread(event)))
        .collect();
    let task = |event: &&&Value| event["name"] == "RunTask" && micros(event, "dur") >= least;
    let mut tasks = Vec::new();
    for event in of_mains.iter().filter(task) {
        let begins = micros(event, "ts");
        let before = phases
            .iter()
            .filter(|(_, mark)| micros(mark, "ts") <= begins)
            .max_by_key(|(_, mark)| micros(mark, "ts"));
        let Some((phase, _)) = before else {
            continue;
        };
        let wall = micros(event, "dur");
        let within = of_mains
            .iter()
            .filter(|inner| inner["name"] != "RunTask")
            .filter(|inner| (begins..begins + wall).contains(&micros(inner, "ts")))
            .max_by_key(|inner| micros(inner, "dur"));
        tasks.push(Task {
            phase: (*phase).to_owned(),
            wall,
            worked: micros(event, "tdur"),
            within: within.map_or_else(String::new, |inner| described(inner)),
        });
    }
    tasks
}

fn described(event: &Value) -> String {
    let ms = micros(event, "dur").as_millis();
    let name = event["name"].as_str().unwrap_or_default();
    format!("{name} {ms} ms")
}

/// A time of an event; nothing where it has none.
fn micros(event: &Value, name: &str) -> Duration {
    let micros = event[name].as_f64().unwrap_or_default();
    Duration::from_secs_f64(micros.max(0.0) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_of_the_phase_in_which_it_began_and_of_the_page_that_was_marked() {
        let run = |pid: u64, ts: f64, dur: u64, tdur: u64| {
            json!({ "ph": "X", "name": "RunTask", "pid": pid, "tid": pid,
            "ts": ts, "dur": dur, "tdur": tdur })
        };
        let mark =
            |ts: f64, name: &str| json!({ "ph": "I", "name": name, "pid": 1, "tid": 1, "ts": ts });
        let inner =
            json!({ "ph": "X", "name": "Layout", "pid": 1, "tid": 1, "ts": 160.0, "dur": 40_000 });
        let events = [
            run(1, 50.0, 90_000, 1),
            mark(100.0, "phase: scroll"),
            mark(110.0, "of the page itself"),
            run(1, 150.0, 60_000, 30_000),
            inner,
            run(2, 150.0, 70_000, 70_000),
            mark(100_000.0, "phase: sort"),
            run(1, 100_001.0, 900, 900),
            run(1, 200_000.0, 2_000, 1_500),
        ];
        let ms = Duration::from_millis;
        let found = tasks(&events, ms(1));
        let seen: Vec<_> = found
            .iter()
            .map(|task| {
                (
                    task.phase.as_str(),
                    task.wall,
                    task.worked,
                    task.within.as_str(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("scroll", ms(60), ms(30), "Layout 40 ms"),
                ("sort", ms(2), Duration::from_micros(1_500), ""),
            ]
        );
    }
}
