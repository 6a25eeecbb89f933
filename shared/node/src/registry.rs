//! The registry at work: policies, tokens, the keys of what callers keep, and the audit log.
//!
//! One call is worked on at a time, as a list of [`Task`]s: each reads rows, says which rows to write, and which tasks
//! come first. A change and its record are one write. Regions are told, and the caller is answered, when that write is
//! durable; a write that fails leaves memory as it was, and the caller is told that it failed. What comes meanwhile waits:
//! it reads rows as they are after the write, so that of two edits of the same state the second is refused.
//!
//! It reads by itself all that it decides on: nothing is paged by whoever runs it.

mod audit;
mod call;
mod memory;
mod pages;
mod policy;
mod rows;
mod sessions;
mod task;
mod tokens;

use std::collections::VecDeque;
use std::fmt;

pub use call::{Failure, News, Part, RegistryCall, Reply, Report};
use memory::{Learned, Memory};
pub use rows::{
    AccessRow, EndedColumns, HeadRow, PolicyRow, Put, RecordRow, Rows, SealColumns, SummaryRow,
    TokenColumns, Whose,
};
use task::{Desk, Step, Task};
use weir_access::token::{ID_BYTES, KEY_BYTES, SECRET_BYTES};
use weir_core::units::EpochMs;
use weir_wire::registry::Rules;

/// Who is named as the author of what nobody asked for.
const DEPLOYMENT: &str = "deployment";

/// Random bytes for one call. No part of them is used twice.
#[derive(Clone)]
pub struct Entropy {
    /// For the secret by which the shards of keys are chosen.
    pub placement: [u8; 16],
    /// For the key of the tokens' MAC.
    pub token_key: [u8; KEY_BYTES],
    /// For a key of what callers keep.
    pub seal_key: [u8; KEY_BYTES],
    /// For the id of a token.
    pub token_id: [u8; ID_BYTES],
    /// For the secret of a token.
    pub token_secret: [u8; SECRET_BYTES],
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Entropy")
    }
}

/// What happens to it.
#[derive(Debug, Clone)]
pub enum Event<C> {
    /// A call.
    Asked {
        /// Who is answered.
        caller: C,
        /// What it asks.
        ask: RegistryCall,
        /// Random bytes.
        entropy: Box<Entropy>,
    },
    /// The rows are durable.
    Persisted,
    /// They are not, for that reason.
    NotPersisted(Failure),
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C> {
    /// Make the rows durable, all or none, and say `Persisted` or `NotPersisted`. There is one at a time, the last of its
    /// list.
    Persist(Vec<Put>),
    /// Tell regions. The caller who is answered next waits until they have heard, or the time of a call is over: a region
    /// that does not hear asks by itself.
    Send(Box<News>),
    /// Answer the caller.
    Reply(C, Box<Reply>),
    /// The call failed: the caller is told that nothing is known.
    Fail(C, Failure),
    /// Let an operator know.
    Report(Report),
}

/// A call, and what is left to be done for it, in that order.
#[derive(Debug, Clone)]
struct Call<C> {
    caller: C,
    entropy: Box<Entropy>,
    tasks: VecDeque<Task>,
    /// What the answer has so far to who reads what is in force.
    rules: Rules,
}

/// A write under way.
#[derive(Debug, Clone)]
struct Write<C> {
    call: Call<C>,
    learned: Option<Learned>,
}

/// The registry, and who waits for its rows.
#[derive(Debug, Clone)]
pub struct RegistryNode<C> {
    memory: Memory,
    writing: Option<Write<C>>,
    /// What came while rows were written: it reads them.
    behind: VecDeque<Call<C>>,
}

impl<C> Default for RegistryNode<C> {
    fn default() -> Self {
        Self {
            memory: Memory::default(),
            writing: None,
            behind: VecDeque::new(),
        }
    }
}

impl<C: Clone> RegistryNode<C> {
    /// Takes one event. What it reads of `rows` is durable.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, rows: &impl Rows, now: EpochMs) -> Vec<Effect<C>> {
        let mut effects = Vec::new();
        match event {
            Event::Asked {
                caller,
                ask,
                entropy,
            } => self.behind.push_back(Call {
                caller,
                entropy,
                tasks: task::tasks(ask),
                rules: Rules::default(),
            }),
            Event::Persisted => {
                if let Some(Write { call, learned }) = self.writing.take() {
                    if let Some(learned) = learned {
                        self.memory.learn(learned);
                    }
                    self.work(call, rows, now, &mut effects);
                }
            }
            Event::NotPersisted(failure) => {
                if let Some(Write { mut call, .. }) = self.writing.take()
                    && fails(&mut call, failure, &mut effects)
                {
                    self.work(call, rows, now, &mut effects);
                }
            }
        }
        while self.writing.is_none()
            && let Some(call) = self.behind.pop_front()
        {
            self.work(call, rows, now, &mut effects);
        }
        effects
    }

    /// Does what is left to do for a call, until rows have to be written.
    fn work(
        &mut self,
        mut call: Call<C>,
        rows: &impl Rows,
        now: EpochMs,
        effects: &mut Vec<Effect<C>>,
    ) {
        while let Some(task) = call.tasks.pop_front() {
            let mut desk = Desk {
                rows,
                memory: &mut self.memory,
                entropy: &call.entropy,
                rules: &mut call.rules,
                now,
                reports: Vec::new(),
            };
            let step = desk.run(task);
            effects.extend(desk.reports.into_iter().map(Effect::Report));
            match step {
                Ok(Step::First(tasks)) => first(&mut call, tasks),
                Ok(Step::Write {
                    puts,
                    learned,
                    then,
                }) => {
                    first(&mut call, then);
                    effects.push(Effect::Persist(puts));
                    self.writing = Some(Write { call, learned });
                    return;
                }
                Ok(Step::Send(news)) => effects.push(Effect::Send(news)),
                Ok(Step::Reply(reply)) => effects.push(Effect::Reply(call.caller.clone(), reply)),
                Err(failure) => {
                    if !fails(&mut call, failure, effects) {
                        return;
                    }
                }
            }
        }
    }
}

/// Puts tasks before all others of a call.
fn first<C>(call: &mut Call<C>, tasks: Vec<Task>) {
    for task in tasks.into_iter().rev() {
        call.tasks.push_front(task);
    }
}

/// A task of a call failed: what belongs to the same part of it is not done. Whether anything is left to do.
fn fails<C: Clone>(call: &mut Call<C>, failure: Failure, effects: &mut Vec<Effect<C>>) -> bool {
    while let Some(task) = call.tasks.pop_front() {
        if let Task::EndOf(part) = task {
            effects.push(Effect::Report(Report::LeftOut { part, failure }));
            return true;
        }
    }
    effects.push(Effect::Fail(call.caller.clone(), failure));
    false
}
