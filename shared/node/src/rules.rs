//! What is in force in a region: the last policy and tokens that it has seen, kept so that isolates are served while the
//! registry is out of reach.
//!
//! The registry pushes them, and is asked for them every few seconds in case a push was lost. Whatever arrives, and in
//! whatever order, the newest revision stays. It is in force, told to isolates and confirmed to the registry when it is
//! durable. What cannot be taken of one keeps nothing of the other back. Whoever carries out the effects writes at once.

use std::mem;
use std::rc::Rc;

use weir_access::refresh::{Known, Look, Refresh};
use weir_access::stored::StoredAccess;
use weir_access::table::AccessTable;
use weir_access::uses::Uses;
use weir_access::wanted::seal_of;
use weir_core::invalid::Invalid;
use weir_core::limits::{OPERATOR_CALL_MS_MAX, TOKENS_MAX};
use weir_core::units::{EpochMs, Revision};
use weir_federation::handover::Handover;
use weir_policy::Policy;
use weir_wire::access::{SavedAccess, TokenUse};
use weir_wire::registry::{ReadPolicy, Rules};
use weir_wire::saved_policy::SavedPolicy;

/// A policy in force, with the document to hand on.
#[derive(Debug, Clone)]
pub struct PolicyInForce {
    /// As the registry saved it.
    pub saved: Rc<SavedPolicy>,
    /// As it decides.
    pub policy: Rc<Policy>,
}

impl TryFrom<SavedPolicy> for PolicyInForce {
    type Error = Invalid;

    fn try_from(saved: SavedPolicy) -> Result<Self, Invalid> {
        Ok(Self {
            policy: Rc::new(Policy::try_from(&saved.document)?),
            saved: Rc::new(saved),
        })
    }
}

impl PolicyInForce {
    /// What the region's own share of a pool is held to, while shares change.
    #[must_use]
    pub fn handover(&self, pool: &str, region: &str) -> Option<Handover> {
        let body = self.saved.handovers.get(pool)?;
        Some(Handover::of(body, region))
    }
}

/// What happens to it. `C` names who asked.
#[derive(Debug, Clone)]
pub enum Event<C> {
    /// Somebody needs what is in force.
    Needed {
        /// Who.
        caller: C,
        /// A token, or a key of those who seal, that the caller has seen and may not be known here.
        token: Option<String>,
    },
    /// The registry tells what was changed.
    Pushed {
        /// Who is answered.
        caller: C,
        /// What was changed.
        rules: Box<Rules>,
    },
    /// What came of the question to the registry: its answer, or none in time.
    Answered(Option<Box<Rules>>),
    /// The row is durable.
    Persisted,
    /// It is not.
    NotPersisted,
}

/// A row, written in the place of the one before.
#[derive(Debug, Clone, PartialEq)]
pub enum Row {
    /// The tokens.
    Access(Box<StoredAccess>),
    /// The policy, with its handovers and the secret by which shards are chosen, all or none.
    Policy(Rc<SavedPolicy>),
}

/// Something to be done, in the order of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect<C> {
    /// Make the row durable, and say `Persisted` or `NotPersisted`. There is one at a time.
    Persist(Row),
    /// Ask the registry, and say `Answered` with what comes of it, within an operator's call's time.
    Ask {
        /// Where the registry is.
        home: String,
        /// The question.
        question: ReadPolicy,
    },
    /// Answer the caller with what is in force.
    Reply(C),
    /// The same with the registry's answer, or without it after so many milliseconds.
    Wait(C, u64),
    /// A newer policy is in force: what was asked of coordinators is asked again.
    NewPolicy,
    /// What arrived cannot be taken, for that reason.
    Refused(Invalid),
    /// What was pushed is in force, or something newer.
    Confirm(C),
    /// Something that was pushed could not be taken or made durable.
    Fail(C),
}

/// Who is to be told when what has arrived is taken.
#[derive(Debug, Clone)]
enum Source<C> {
    Push(C),
    Question,
}

/// What is being written.
#[derive(Debug, Clone)]
enum Writing {
    Access(Rc<SavedAccess>),
    Policy(PolicyInForce),
}

/// What has arrived, and is being taken.
#[derive(Debug, Clone)]
struct Taking<C> {
    source: Source<C>,
    writing: Option<Writing>,
    /// What comes after what is being written.
    policy: Option<SavedPolicy>,
    /// Whether all of it so far was taken.
    well: bool,
}

/// What is in force in a region.
#[derive(Debug, Clone)]
pub struct RulesNode<C> {
    region: String,
    policy: Option<PolicyInForce>,
    access: Option<Rc<SavedAccess>>,
    /// Tokens that isolates saw.
    uses: Uses,
    refresh: Refresh,
    /// The uses that the registry is being told, while it is asked.
    asked: Option<Vec<TokenUse>>,
    /// Who waits for its answer.
    waiting: Vec<C>,
    taking: Option<Taking<C>>,
}

impl<C: Clone> RulesNode<C> {
    /// Starts with what is stored.
    #[must_use]
    pub fn new(region: String, policy: Option<PolicyInForce>, access: Option<SavedAccess>) -> Self {
        Self {
            region,
            policy,
            access: access.map(Rc::new),
            uses: Uses::new(0),
            refresh: Refresh::default(),
            asked: None,
            waiting: Vec::new(),
            taking: None,
        }
    }

    /// The policy in force; none before the first.
    #[must_use]
    pub fn policy(&self) -> Option<&PolicyInForce> {
        self.policy.as_ref()
    }

    /// Its revision; 0 for none.
    #[must_use]
    pub fn policy_revision(&self) -> Revision {
        let policy = self.policy.as_ref();
        policy.map_or(Revision(0), |policy| policy.saved.revision)
    }

    /// The revision of the tokens in force; 0 for none.
    #[must_use]
    pub fn access_revision(&self) -> Revision {
        let access = self.access.as_ref();
        access.map_or(Revision(0), |access| access.revision)
    }

    /// The tokens, for an isolate that has an older revision.
    #[must_use]
    pub fn access_beyond(&self, revision: Revision) -> Option<Rc<SavedAccess>> {
        let access = self.access.as_ref();
        access
            .filter(|access| access.revision > revision)
            .map(Rc::clone)
    }

    /// Takes in which tokens an isolate saw: the next question to the registry takes them along.
    pub fn note_uses(&mut self, told: &[TokenUse]) {
        told.iter().for_each(|told| self.uses.add(told));
    }

    /// Takes one event.
    #[must_use]
    pub fn step(&mut self, event: Event<C>, now: EpochMs) -> Vec<Effect<C>> {
        let mut effects = Vec::new();
        match event {
            Event::Needed { caller, token } => {
                self.needed(caller, token.as_deref(), now, &mut effects);
            }
            Event::Pushed { caller, rules } => {
                self.take(Source::Push(caller), *rules, &mut effects);
            }
            Event::Answered(Some(rules)) => {
                self.asked = None;
                self.take(Source::Question, *rules, &mut effects);
            }
            Event::Answered(None) => {
                let told = self.asked.take();
                self.uses.put_back(&told.unwrap_or_default());
                self.answer_waiting(&mut effects);
            }
            Event::Persisted => self.written(true, &mut effects),
            Event::NotPersisted => self.written(false, &mut effects),
        }
        effects
    }

    fn needed(
        &mut self,
        caller: C,
        token: Option<&str>,
        now: EpochMs,
        effects: &mut Vec<Effect<C>>,
    ) {
        let known = Known {
            all: self.policy.is_some() && self.access.is_some(),
            under_way: self.asked.is_some(),
            token_missing: token.is_some_and(|token| !self.has(token)),
        };
        match self.refresh.look(known, now) {
            Look::Rest => effects.push(Effect::Reply(caller)),
            // Nobody waits for this.
            Look::Ask => {
                self.ask(now, effects);
                effects.push(Effect::Reply(caller));
            }
            Look::Wait(ms) => {
                self.ask(now, effects);
                self.waiting.push(caller.clone());
                effects.push(Effect::Wait(caller, ms));
            }
        }
    }

    fn has(&self, wanted: &str) -> bool {
        self.access
            .as_ref()
            .is_some_and(|access| match seal_of(wanted) {
                Some(version) => access.seals.iter().any(|row| row.version >= version),
                None => access.tokens.iter().any(|row| row.id == wanted),
            })
    }

    /// One question at a time. One that has no answer by now never will have one: what ran it was ended.
    fn ask(&mut self, now: EpochMs, effects: &mut Vec<Effect<C>>) {
        let is_lost = self.refresh.asked_ms_ago(now) > OPERATOR_CALL_MS_MAX;
        if self.asked.is_some() && !is_lost {
            return;
        }
        self.refresh.asked(now);
        let told = self.uses.take(TOKENS_MAX + 1, now);
        self.asked = Some(told.clone());
        let policy = self.policy.as_ref();
        let access = self.access.as_ref();
        effects.push(Effect::Ask {
            home: policy.map_or_else(|| self.region.clone(), |policy| policy.policy.home.clone()),
            question: ReadPolicy {
                policy_revision: self.policy_revision(),
                // None where the keys are missing: the registry then tells all again.
                access_revision: access.map_or(Revision(0), |access| access.told()),
                region: self.region.clone(),
                tokens_used: told,
            },
        });
    }

    /// Takes what is newer than what is in force: first the tokens, then the policy.
    fn take(&mut self, source: Source<C>, rules: Rules, effects: &mut Vec<Effect<C>>) {
        self.taking = Some(Taking {
            source,
            writing: None,
            policy: rules.policy,
            well: true,
        });
        if let Some(row) = rules
            .access
            .and_then(|saved| self.begin_access(saved, effects))
        {
            effects.push(Effect::Persist(row));
        } else {
            self.take_policy(effects);
        }
    }

    fn begin_access(&mut self, saved: SavedAccess, effects: &mut Vec<Effect<C>>) -> Option<Row> {
        let has_seals = self.access.as_ref();
        let has_seals = has_seals.is_some_and(|access| !access.seals.is_empty());
        if !saved.is_news(self.access_revision(), has_seals) {
            return None;
        }
        // What an isolate could not read is not handed on.
        if let Err(refused) = AccessTable::try_from(&saved) {
            self.refuse(refused, effects);
            return None;
        }
        let stored = StoredAccess::new(saved);
        self.write(Writing::Access(Rc::new(stored.access.clone())));
        Some(Row::Access(Box::new(stored)))
    }

    fn take_policy(&mut self, effects: &mut Vec<Effect<C>>) {
        let saved = self.taking.as_mut().and_then(|taking| taking.policy.take());
        match saved.and_then(|saved| self.begin_policy(saved, effects)) {
            Some(row) => effects.push(Effect::Persist(row)),
            None => self.end(effects),
        }
    }

    fn begin_policy(&mut self, saved: SavedPolicy, effects: &mut Vec<Effect<C>>) -> Option<Row> {
        if self.policy_revision() >= saved.revision {
            return None;
        }
        // Keys stay where they are, also when the registry cannot read its secret any more.
        let known = self.policy.as_ref();
        let placement = known.and_then(|policy| policy.saved.placement);
        let placement = placement.or(saved.placement);
        match PolicyInForce::try_from(SavedPolicy { placement, ..saved }) {
            Ok(policy) => {
                let row = Row::Policy(Rc::clone(&policy.saved));
                self.write(Writing::Policy(policy));
                Some(row)
            }
            Err(refused) => {
                self.refuse(refused, effects);
                None
            }
        }
    }

    fn write(&mut self, writing: Writing) {
        if let Some(taking) = &mut self.taking {
            taking.writing = Some(writing);
        }
    }

    fn refuse(&mut self, refused: Invalid, effects: &mut Vec<Effect<C>>) {
        effects.push(Effect::Refused(refused));
        if let Some(taking) = &mut self.taking {
            taking.well = false;
        }
    }

    fn written(&mut self, well: bool, effects: &mut Vec<Effect<C>>) {
        let Some(taking) = &mut self.taking else {
            return;
        };
        let writing = taking.writing.take();
        taking.well &= well;
        match writing {
            Some(Writing::Access(access)) => {
                if well {
                    self.access = Some(access);
                }
                self.take_policy(effects);
            }
            Some(Writing::Policy(policy)) => {
                if well {
                    self.policy = Some(policy);
                    effects.push(Effect::NewPolicy);
                }
                self.end(effects);
            }
            None => {}
        }
    }

    /// All that has arrived is taken, or cannot be.
    fn end(&mut self, effects: &mut Vec<Effect<C>>) {
        let Some(taking) = self.taking.take() else {
            return;
        };
        match taking.source {
            Source::Question => self.answer_waiting(effects),
            Source::Push(caller) if taking.well => effects.push(Effect::Confirm(caller)),
            Source::Push(caller) => effects.push(Effect::Fail(caller)),
        }
    }

    fn answer_waiting(&mut self, effects: &mut Vec<Effect<C>>) {
        effects.extend(mem::take(&mut self.waiting).into_iter().map(Effect::Reply));
    }
}
