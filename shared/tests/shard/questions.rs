//! Many questions over what an isolate holds and several shards, by the shipped machines, with all that can go wrong between
//! them: calls and answers are lost, late and repeated, shards and askers die at any point.

mod accounts;

use std::rc::Rc;

use weir_shared::algorithms::composite::Mode;
use weir_shared::decision::{Decision, Reason};
use weir_shared::limiting::messages::{DecideReply, FinishBody};
use weir_shared::limiting::verdict::{DimensionRules, StepRules};
use weir_shared::limits::{CALL_MS_MAX, HOLD_MS};
use weir_shared::node::commit::{self, Commit};
use weir_shared::node::question::answers::{At, Charge, DimensionAnswer, Part};
use weir_shared::node::question::{Effect, End, Event, LocalAnswer, Question};
use weir_shared::ordered::{OrderedMap, OrderedSet};
use weir_shared::units::{EpochMs, WindowLabel};

use super::store::{Store, decide};
use crate::random::Random;

/// Units of each key, of this isolate and of each shard.
const LIMIT: u64 = 10;

const START: EpochMs = EpochMs(10_000);

/// A rule of the order, broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The request passes as soon as all hold.
    ReplyBeforeCommit,
    /// Shards are told to commit what they do not hold.
    CommitWithoutHold,
    /// Nobody is told to undo.
    UndoForgotten,
    /// What this isolate charged is not given back.
    GiveBackForgotten,
    /// A shard answers before what it charged is written.
    ShardRepliesBeforeWrite,
    /// A hold does not lapse.
    HoldNeverReleased,
}

/// What a run has of each fault, in a thousand.
#[derive(Debug, Clone, Copy)]
struct Faults {
    lost: u64,
    late: u64,
    repeated: u64,
    shards_die: u64,
    askers_die: u64,
}

/// One request.
#[derive(Debug)]
struct Asker {
    /// Of this isolate, then of each shard; none is not asked.
    costs: Vec<Option<u64>>,
    question: Option<Question>,
    commit: Option<Commit<usize>>,
    alive: bool,
    /// Whether it passed, once it was answered.
    passed: Option<bool>,
    /// How often each shard was told to undo it.
    tried: OrderedMap<usize, u32>,
    /// Shards that have heard so while they could.
    undone: OrderedSet<usize>,
    /// Shards that heard so too late.
    too_late: OrderedSet<usize>,
    /// When shards were first asked it.
    asked_at: OrderedMap<usize, EpochMs>,
    /// When shards were told to commit it.
    committed: OrderedMap<usize, EpochMs>,
    /// Shards that died since they were first asked.
    died: OrderedSet<usize>,
}

#[derive(Debug, Clone)]
enum Said {
    Decided(DecideReply),
    Finished(bool),
}

#[derive(Debug, Clone)]
enum Happens {
    Asked(usize),
    /// A call arrives at its shard: the part, or the end of the question.
    AtShard(usize, Call, Option<FinishBody>),
    /// Its answer arrives, or its time is over.
    AtAsker(usize, Call, Option<Said>),
    Woke(usize),
}

/// One call: its number, and the part that it is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Call {
    number: u64,
    part: usize,
    ends: bool,
}

/// What a run came to.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) passed: u64,
    pub(crate) denied: u64,
    /// Questions to several shards that passed.
    pub(crate) committed: u64,
    pub(crate) wrong: Option<String>,
}

struct World {
    random: Random,
    broken: Option<Broken>,
    faults: Faults,
    now: EpochMs,
    queue: OrderedMap<(EpochMs, u64), Happens>,
    made: u64,
    shards: Vec<Store>,
    /// Units that this isolate has charged.
    own: u64,
    askers: Vec<Asker>,
    /// Calls that were answered or given up.
    over: OrderedSet<Call>,
}

/// Plays one seed.
pub(crate) fn run(seed: u64, broken: Option<Broken>) -> Report {
    let mut random = Random::new(seed);
    let mut often = |most| random.below(2) * random.below(most);
    let faults = Faults {
        lost: often(300),
        late: often(200),
        repeated: often(200),
        shards_die: often(150),
        askers_die: often(100),
    };
    let shards = 2 + random.below(2);
    let mut world = World {
        broken,
        faults,
        now: START,
        queue: OrderedMap::new(),
        made: 0,
        shards: (0..shards)
            .map(|_| match broken {
                Some(Broken::ShardRepliesBeforeWrite) => Store::default().believes(),
                _ => Store::default(),
            })
            .collect(),
        own: 0,
        askers: Vec::new(),
        over: OrderedSet::new(),
        random,
    };
    for index in 0..world.random.between(1, 12) as usize {
        world.comes(index);
    }
    while let Some(((at, _), happens)) = world.queue.pop_first() {
        world.now = at;
        if broken != Some(Broken::HoldNeverReleased) {
            world.shards.iter_mut().for_each(|shard| shard.wakes(at));
        }
        world.happens(happens);
    }
    world.report()
}

impl World {
    /// A request that comes within ten seconds.
    fn comes(&mut self, index: usize) {
        let asks = |random: &mut Random| random.chance(700).then(|| random.between(1, 4));
        let mut costs: Vec<_> = (0..=self.shards.len())
            .map(|_| asks(&mut self.random))
            .collect();
        if costs.iter().all(Option::is_none) {
            costs[1] = Some(1);
        }
        self.askers.push(Asker {
            costs,
            question: None,
            commit: None,
            alive: true,
            passed: None,
            tried: OrderedMap::new(),
            undone: OrderedSet::new(),
            too_late: OrderedSet::new(),
            asked_at: OrderedMap::new(),
            committed: OrderedMap::new(),
            died: OrderedSet::new(),
        });
        self.later(10_000, Happens::Asked(index));
    }

    fn later(&mut self, within_ms: u64, happens: Happens) {
        let at = self.now.plus(self.random.between(1, within_ms));
        self.at(at, happens);
    }

    fn at(&mut self, at: EpochMs, happens: Happens) {
        self.made += 1;
        self.queue.insert((at, self.made), happens);
    }

    fn happens(&mut self, happens: Happens) {
        match happens {
            Happens::Asked(index) => self.asked(index),
            Happens::AtShard(index, call, end) => self.at_shard(index, call, end),
            Happens::AtAsker(index, call, said) => {
                if self.over.insert(call) {
                    let part = call.part;
                    let event = match said {
                        Some(Said::Decided(reply)) => commit::Event::Decided {
                            part,
                            reply: Some(reply),
                        },
                        Some(Said::Finished(standing)) => commit::Event::Finished {
                            part,
                            standing: Some(standing),
                        },
                        None if call.ends => commit::Event::Finished {
                            part,
                            standing: None,
                        },
                        None => commit::Event::Decided { part, reply: None },
                    };
                    self.commit_runs(index, event);
                }
            }
            Happens::Woke(index) => self.commit_runs(index, commit::Event::Woke),
        }
    }

    /// Lets the question take event after event, and does what it says.
    fn asked(&mut self, index: usize) {
        let asked = self.askers[index].costs.iter().flatten().count();
        let step = || StepRules {
            mode: Mode::All,
            enforced: true,
            dimensions: vec![DimensionRules::default()],
        };
        let rules = Rc::new((0..asked).map(|_| step()).collect::<Vec<_>>());
        let (mut question, mut effect) = Question::begin(Rc::clone(&rules), false);
        loop {
            let event = match effect {
                Effect::Look => Event::Looked(Vec::new()),
                Effect::Probe => Event::Probed { busy: false },
                Effect::Hold(at) => Event::Held(at, self.held(index, at)),
                Effect::Claim => Event::Claimed(true),
                Effect::Ask => {
                    let parts = self.parts(index);
                    let answers = question.answers().clone();
                    let (commit, effects) = Commit::begin(rules, answers, parts);
                    self.askers[index].question = Some(question);
                    self.askers[index].commit = Some(commit);
                    self.carry_out(index, effects);
                    return;
                }
                Effect::End(end, back) => return self.ended(index, end, &back),
            };
            effect = question.step(event, self.now);
        }
    }

    /// Which of its costs a check of a question is.
    fn place(&self, index: usize, step: usize) -> (usize, u64) {
        let costs = self.askers[index].costs.iter().enumerate();
        let mut asked = costs.filter_map(|(place, cost)| Some((place, (*cost)?)));
        asked.nth(step).expect("it is asked")
    }

    fn held(&mut self, index: usize, at: At) -> LocalAnswer {
        let (place, cost) = self.place(index, at.0);
        if place > 0 {
            return LocalAnswer::Elsewhere;
        }
        let admits = self.own + cost <= LIMIT;
        let mut answer = DimensionAnswer::uncharged(decision(admits));
        if admits {
            self.own += cost;
            answer.charge = Charge::Pool(WindowLabel(1));
        }
        LocalAnswer::Decided(Box::new(answer))
    }

    fn parts(&self, index: usize) -> Vec<Part<usize>> {
        let asked = self.askers[index].costs.iter().flatten().count();
        let open = (0..asked).map(|step| (step, self.place(index, step)));
        let open: Vec<_> = open.filter(|(_, (place, _))| *place > 0).collect();
        let several = open.len() > 1;
        let part = |(step, (place, cost)): &(usize, (usize, u64))| Part {
            shard: place - 1,
            body: decide(index as u64 + 1, Mode::All, &[("ten", "k", *cost)], several),
            keys: vec![((*step, 0), (0, 0))],
        };
        open.iter().map(part).collect()
    }

    fn commit_runs(&mut self, index: usize, event: commit::Event) {
        if !self.askers[index].alive {
            return;
        }
        if self.random.chance(self.faults.askers_die) {
            self.askers[index].alive = false;
            return;
        }
        let Some(commit) = self.askers[index].commit.as_mut() else {
            return;
        };
        let effects = commit.step(event, self.now);
        self.carry_out(index, effects);
    }

    fn carry_out(&mut self, index: usize, effects: Vec<commit::Effect>) {
        for effect in effects {
            match effect {
                commit::Effect::Decide(part) => self.calls(index, part, None),
                commit::Effect::Finish(part, end) => self.finishes(index, part, end),
                commit::Effect::Reply(answers) => {
                    let event = Event::Asked(answers);
                    let question = self.askers[index].question.as_mut();
                    let Some(effect) = question.map(|one| one.step(event, self.now)) else {
                        continue;
                    };
                    match effect {
                        Effect::End(end, back) => self.ended(index, end, &back),
                        other => panic!("a question goes on after its shards: {other:?}"),
                    }
                }
                commit::Effect::WakeAt(at) => self.at(at, Happens::Woke(index)),
            }
        }
    }

    fn finishes(&mut self, index: usize, part: usize, end: FinishBody) {
        if end.commit && self.broken == Some(Broken::ReplyBeforeCommit) {
            self.askers[index].passed = Some(true);
        }
        if !end.commit {
            if self.broken == Some(Broken::UndoForgotten) {
                return;
            }
            let commit = self.askers[index].commit.as_ref();
            let shard = commit
                .and_then(|commit| commit.part(part))
                .map(|part| part.shard);
            *self.askers[index].tried.entry(shard.unwrap()).or_insert(0) += 1;
        }
        self.calls(index, part, Some(end));
    }

    /// One call, with all that may happen to it; it is given up in time.
    fn calls(&mut self, index: usize, part: usize, end: Option<FinishBody>) {
        self.made += 1;
        let call = Call {
            number: self.made,
            part,
            ends: end.is_some(),
        };
        let deadline = self.now.plus(CALL_MS_MAX);
        self.at(deadline, Happens::AtAsker(index, call, None));
        // What one shard decides in one step is asked once: a second call would be another question.
        let several = self.askers[index].costs.iter().skip(1).flatten().count() > 1;
        let again = (several || call.ends) && self.random.chance(self.faults.repeated);
        let times = 1 + u64::from(again);
        for _ in 0..times {
            if !self.random.chance(self.faults.lost) {
                let within_ms = self.delay_ms();
                self.later(within_ms, Happens::AtShard(index, call, end));
            }
        }
    }

    fn delay_ms(&mut self) -> u64 {
        match self.random.chance(self.faults.late) {
            true => 2 * CALL_MS_MAX - 1,
            false => 40,
        }
    }

    fn at_shard(&mut self, index: usize, call: Call, end: Option<FinishBody>) {
        let commit = self.askers[index].commit.as_ref();
        let part = commit.and_then(|commit| commit.part(call.part));
        let (shard, mut body) = part.map(|part| (part.shard, part.body.clone())).unwrap();
        let said = match end {
            None => {
                let first = self.askers[index].asked_at.entry(shard);
                first.or_insert(self.now);
                body.hold &= self.broken != Some(Broken::CommitWithoutHold);
                Said::Decided(self.shards[shard].decide(&body, self.now))
            }
            Some(end) => {
                self.tells(index, shard, end.commit);
                let standing = self.shards[shard].finish(end, self.now).standing;
                let unheld = self.broken == Some(Broken::CommitWithoutHold);
                Said::Finished(standing || (end.commit && unheld))
            }
        };
        if self.random.chance(self.faults.shards_die) {
            self.shards[shard].crash();
            for asker in &mut self.askers {
                asker.died.insert(shard);
            }
            // What was written is; whether it was answered, too, is open.
            if self.random.chance(500) {
                return;
            }
        }
        if !self.random.chance(self.faults.lost) {
            let within_ms = self.delay_ms();
            self.later(within_ms, Happens::AtAsker(index, call, Some(said)));
        }
    }

    /// A shard hears how a question ends.
    fn tells(&mut self, index: usize, shard: usize, commit: bool) {
        let asker = &mut self.askers[index];
        if commit {
            asker.committed.entry(shard).or_insert(self.now);
            return;
        }
        // What was committed can be undone for a while, what was charged at once for a shorter one.
        let since = |at: Option<&EpochMs>| at.map_or(0, |at| self.now.since(*at));
        let several = asker.costs.iter().skip(1).flatten().count() > 1;
        let in_time = match several {
            true => since(asker.committed.get(&shard)) < HOLD_MS + 2 * CALL_MS_MAX,
            false => since(asker.asked_at.get(&shard)) <= 2 * CALL_MS_MAX,
        };
        if in_time {
            asker.undone.insert(shard);
        } else {
            asker.too_late.insert(shard);
        }
    }

    fn ended(&mut self, index: usize, end: End, back: &[At]) {
        for at in back {
            let (place, cost) = self.place(index, at.0);
            assert_eq!(place, 0, "shards undo what they charged");
            if self.broken != Some(Broken::GiveBackForgotten) {
                self.own -= cost;
            }
        }
        let End::Decided(verdict) = end else {
            panic!("nobody else asks: {end:?}");
        };
        let asker = &mut self.askers[index];
        asker.passed.get_or_insert(verdict.admitted);
    }
}

fn decision(admits: bool) -> Decision {
    let denied = Decision::unavailable(LIMIT, START, 1);
    Decision {
        reason: match admits {
            true => Reason::Admitted,
            false => Reason::CapReached,
        },
        ..match admits {
            true => Decision::IDENTITY,
            false => denied,
        }
    }
}
