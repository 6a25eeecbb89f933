//! A registry that dies at any moment, and whose writes fail at any time: a change and its record are there together or not
//! at all, and whoever was told of a change finds it.

use serde_json::Value;
use weir_shared::node::registry::{RegistryCall, Reply, Report};
use weir_shared::units::Revision;
use weir_shared::wire::registry::{Created, RevokeToken, Saved};

use super::table::Table;
use super::world::{Broken, World, ada, create, save};
use crate::random::Random;

const RUNS: u64 = 300;
const CALLS: u64 = 30;

#[test]
fn a_change_and_its_record_are_there_together_whatever_fails_or_dies() {
    for seed in 0..RUNS {
        if let Err(wrong) = play(seed, None) {
            panic!("seed {seed}: {wrong}");
        }
    }
}

macro_rules! caught {
    ($($name:ident: $rule:ident,)*) => {
        $(
            /// The control: whoever carries out what the node says breaks a rule, and the run above sees it.
            #[test]
            fn $name() {
                let caught = (0..RUNS).find_map(|seed| play(seed, Some(Broken::$rule)).err());
                println!("{:?}: {}", Broken::$rule, caught.expect("the broken rule is caught"));
            }
        )*
    };
}

caught! {
    an_answer_that_leaves_before_its_rows_are_written_is_caught: ReplyBeforeWrite,
    regions_that_are_told_before_the_rows_are_written_are_caught: TellBeforeWrite,
    a_failed_write_of_a_change_that_is_ignored_is_caught: FailedWriteIgnored,
    a_write_of_a_change_that_is_told_as_failed_is_caught: WriteToldAsFailed,
    a_change_without_its_record_is_caught: RecordNotWritten,
    a_record_without_its_change_is_caught: ChangeNotWritten,
    a_record_without_the_head_of_the_log_is_caught: HeadNotWritten,
}

/// Calls one after the other, and what has to hold after each.
fn play(seed: u64, broken: Option<Broken>) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut world = World::awake();
    world.broken = broken;
    let mut tokens: Vec<String> = Vec::new();
    for call in 0..CALLS {
        world.pass(random.below(90_000));
        if random.chance(150) {
            world.die();
        }
        world.fails_after = random.chance(250).then(|| random.below(3));
        let ask = match random.below(4) {
            0 => create(&format!("token-{call}")),
            1 if !tokens.is_empty() => RegistryCall::RevokeToken(RevokeToken {
                id: tokens.remove(0),
                author: ada(),
            }),
            _ => save(random.between(1, call + 2), 1 + call),
        };
        let before = world.table.clone();
        let answer = world.ask(ask);
        world.fails_after = None;
        match answer {
            Ok(Reply::Saved(Saved::Done(saved))) => holds(
                world.read().policy.is_some_and(|policy| policy == *saved),
                "a policy that was said to be saved is not in force",
            )?,
            Ok(Reply::Created(Created::Done(token))) => {
                holds(
                    world.table.tokens.contains_key(&token.view.id),
                    "a token is not there",
                )?;
                tokens.push(token.view.id);
            }
            Err(Some(_)) => holds(same_changes(&before, &world.table), "what failed was done")?,
            _ => {}
        }
        world.hold_told()?;
        world.hold_recorded()?;
    }
    Ok(())
}

fn same_changes(before: &Table, after: &Table) -> bool {
    before.policies == after.policies && before.tokens.len() == after.tokens.len()
}

fn holds(what: bool, otherwise: &str) -> Result<(), String> {
    what.then_some(()).ok_or_else(|| otherwise.to_owned())
}

impl World {
    /// What regions were told of is in the rows.
    fn hold_told(&self) -> Result<(), String> {
        for news in &self.sent {
            if let Some(policy) = &news.rules.policy {
                let known = self.table.policies.contains_key(&policy.revision.0);
                holds(known, "regions know a policy that is not there")?;
            }
            if let Some(access) = &news.rules.access {
                let known = self.table.access.as_ref().and_then(|row| row.revision);
                let known = known.is_some_and(|known| Revision(known) >= access.revision);
                holds(known, "regions know tokens that are not there")?;
            }
        }
        Ok(())
    }

    /// Each policy and each token has its record, each record is true, and the chain is whole.
    fn hold_recorded(&mut self) -> Result<(), String> {
        holds(self.verified().intact, "the chain does not hold")?;
        let reports = std::mem::take(&mut self.reports);
        let damaged = |report: &_| matches!(report, Report::Damaged { .. });
        holds(
            !reports.iter().any(damaged),
            "a row is damaged that nobody damaged",
        )?;
        let (mut policies, mut tokens) = (Vec::new(), Vec::new());
        for row in self.table.audit.values() {
            let record: Value = serde_json::from_str(row.body.as_deref().unwrap()).unwrap();
            if record["outcome"] != "done" {
                continue;
            }
            let target = record["target"].as_str().unwrap().to_owned();
            match record["action"].as_str().unwrap() {
                "policy.ship" | "policy.save" => {
                    policies.push(record["after"]["revision"].as_u64().unwrap());
                }
                "token.create" => tokens.push(target),
                "token.revoke" => tokens.retain(|id| *id != target),
                _ => {}
            }
        }
        tokens.sort();
        let kept: Vec<u64> = self.table.policies.keys().copied().collect();
        holds(policies == kept, "policies are not those of the log")?;
        let kept: Vec<String> = self.table.tokens.keys().cloned().collect();
        holds(tokens == kept, "tokens are not those of the log")
    }
}
