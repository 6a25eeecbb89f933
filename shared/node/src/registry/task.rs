//! What is done for a call: a list of tasks, each of which may put others before what is left.

use std::collections::VecDeque;

use weir_audit::draft::Draft;
use weir_core::limits::TOKENS_MAX;
use weir_core::units::{EpochMs, Revision};
use weir_wire::access::{BOOTSTRAP, TokenUse};
use weir_wire::registry::{ReadPolicy, Rules};
use weir_wire::stored::Damaged;

use super::Entropy;
use super::call::{Failure, News, Part, RegistryCall, Reply, Report};
use super::memory::{Learned, Memory};
use super::rows::{Put, Rows};

/// One thing to do for a call.
#[derive(Debug, Clone)]
pub(super) enum Task {
    /// Save the policy that is shipped, where none was ever saved.
    Ship,
    /// Decide what is asked.
    Decide(Box<RegistryCall>),
    /// Make summaries records that are due: before a record is written, so that what is due takes nothing more, and before
    /// the log is read.
    RecordDue,
    /// Write a change with the record of it.
    Record(Box<Recording>),
    /// Write what needs no record.
    Write(Vec<Put>, Option<Learned>),
    /// Make the key of the tokens, where there never was one.
    MakeTokenKey,
    /// Make the keys of what callers keep whole.
    MakeSeals,
    /// Tell regions of all tokens.
    TellAccess,
    /// Tell regions.
    Send(Box<News>),
    /// Record uses of the bootstrap token in a region when it is time.
    RecordBootstrap { region: String, uses: u64 },
    /// Read the policy, if it is newer.
    ReadPolicy(Revision),
    /// Read the tokens, if they are newer.
    ReadAccess(Revision),
    /// Nothing. What fails before it keeps nothing back that is behind it.
    EndOf(Part),
    /// Answer what was read of what is in force.
    ReplyRules,
    /// Answer.
    Reply(Box<Reply>),
}

/// A change, and the record of it.
#[derive(Debug, Clone)]
pub(super) struct Recording {
    pub(super) draft: Draft,
    pub(super) puts: Vec<Put>,
    pub(super) learned: Option<Learned>,
    /// Whether the record's number is the answer.
    pub(super) is_answer: bool,
}

/// What a task comes to.
#[derive(Debug)]
pub(super) enum Step {
    /// These tasks come first.
    First(Vec<Task>),
    /// Rows to be written, and what comes first then.
    Write {
        puts: Vec<Put>,
        learned: Option<Learned>,
        then: Vec<Task>,
    },
    /// Something to tell regions.
    Send(Box<News>),
    /// The answer.
    Reply(Box<Reply>),
}

/// What a task has before it.
pub(super) struct Desk<'a, R> {
    pub(super) rows: &'a R,
    pub(super) memory: &'a mut Memory,
    pub(super) entropy: &'a Entropy,
    pub(super) rules: &'a mut Rules,
    pub(super) now: EpochMs,
    pub(super) reports: Vec<Report>,
}

/// What is to be done for what is asked.
pub(super) fn tasks(ask: RegistryCall) -> VecDeque<Task> {
    let before = match ask {
        RegistryCall::Save(_) | RegistryCall::PatchTenant(_) | RegistryCall::DeleteTenant(_) => {
            Some(Task::Ship)
        }
        RegistryCall::ReadAudit(_)
        | RegistryCall::ExportAudit(_)
        | RegistryCall::VerifyAudit(_) => Some(Task::RecordDue),
        _ => None,
    };
    let decide = Task::Decide(Box::new(ask));
    before.into_iter().chain([decide]).collect()
}

/// What is to be done for whoever reads what is in force, and tells which tokens it saw.
fn read(call: ReadPolicy, now: EpochMs) -> Vec<Task> {
    let ReadPolicy {
        policy_revision,
        access_revision,
        region,
        tokens_used,
    } = call;
    let of_bootstrap = |told: &&TokenUse| told.id == BOOTSTRAP;
    let told = tokens_used.iter().take(TOKENS_MAX + 1);
    let uses = told.clone().filter(of_bootstrap);
    let uses = uses.fold(0_u64, |sum, told| sum.saturating_add(told.uses));
    let last_used = told.filter(|told| !of_bootstrap(told));
    let last_used: Vec<_> = last_used
        .map(|told| (told.id.clone(), told.at.min(now)))
        .collect();
    let mut tasks = vec![Task::RecordBootstrap { region, uses }];
    if !last_used.is_empty() {
        tasks.push(Task::Write(vec![Put::LastUsed(last_used)], None));
    }
    tasks.push(Task::EndOf(Part::Uses));
    if policy_revision == Revision(0) {
        tasks.push(Task::Ship);
    }
    tasks.extend([
        Task::ReadPolicy(policy_revision),
        Task::EndOf(Part::Policy),
        Task::MakeTokenKey,
        Task::MakeSeals,
        Task::ReadAccess(access_revision),
        Task::EndOf(Part::Access),
        Task::ReplyRules,
    ]);
    tasks
}

/// A change with its record, and then the answer.
pub(super) fn record(draft: Draft, puts: Vec<Put>, reply: Reply) -> Vec<Task> {
    vec![
        Task::RecordDue,
        Recording::task(draft, puts, None),
        Task::Reply(Box::new(reply)),
    ]
}

/// A change of the tokens with its record; then regions are told, and then comes the answer.
pub(super) fn record_access(draft: Draft, puts: Vec<Put>, reply: Reply) -> Vec<Task> {
    let mut tasks = vec![Task::RecordDue, Recording::task(draft, puts, None)];
    tasks.extend(tell_access(reply));
    tasks
}

/// Tells regions of all tokens, and answers.
pub(super) fn tell_access(reply: Reply) -> [Task; 5] {
    [
        Task::MakeTokenKey,
        Task::MakeSeals,
        Task::Ship,
        Task::TellAccess,
        Task::Reply(Box::new(reply)),
    ]
}

impl Recording {
    pub(super) fn task(draft: Draft, puts: Vec<Put>, learned: Option<Learned>) -> Task {
        Task::Record(Box::new(Self {
            draft,
            puts,
            learned,
            is_answer: false,
        }))
    }
}

impl<R: Rows> Desk<'_, R> {
    pub(super) fn run(&mut self, task: Task) -> Result<Step, Failure> {
        match task {
            Task::Ship => self.ship().map(Step::First),
            Task::Decide(ask) => self.decide(*ask),
            Task::RecordDue => self.record_due(),
            Task::Record(recording) => self.record(*recording),
            Task::Write(puts, learned) => Ok(Step::Write {
                puts,
                learned,
                then: vec![],
            }),
            Task::MakeTokenKey => self.make_token_key().map(Step::First),
            Task::MakeSeals => self.make_seals().map(Step::First),
            Task::TellAccess => self.tell_access().map(Step::Send),
            Task::Send(news) => Ok(Step::Send(news)),
            Task::RecordBootstrap { region, uses } => {
                Ok(Step::First(self.record_bootstrap(&region, uses)))
            }
            Task::ReadPolicy(revision) => {
                self.rules.policy = self.policy_beyond(revision)?;
                Ok(Step::First(vec![]))
            }
            Task::ReadAccess(revision) => {
                self.rules.access = self.access_beyond(revision)?;
                Ok(Step::First(vec![]))
            }
            Task::EndOf(_) => Ok(Step::First(vec![])),
            Task::ReplyRules => {
                let rules = Box::new(std::mem::take(self.rules));
                Ok(Step::Reply(Box::new(Reply::Rules(rules))))
            }
            Task::Reply(reply) => Ok(Step::Reply(reply)),
        }
    }

    fn decide(&mut self, ask: RegistryCall) -> Result<Step, Failure> {
        let reply = match ask {
            RegistryCall::Read(call) => return Ok(Step::First(read(call, self.now))),
            RegistryCall::Save(call) => return self.save(*call).map(Step::First),
            RegistryCall::PatchTenant(call) => return self.patch_tenant(*call).map(Step::First),
            RegistryCall::DeleteTenant(call) => return self.delete_tenant(call).map(Step::First),
            RegistryCall::CreateToken(call) => return self.create_token(call).map(Step::First),
            RegistryCall::RevokeToken(call) => return self.revoke_token(call).map(Step::First),
            RegistryCall::EndSession(call) => return self.end_session(call).map(Step::First),
            RegistryCall::EndSessions(call) => return self.end_sessions(call).map(Step::First),
            RegistryCall::AppendAudit(call) => return Ok(Step::First(self.append_audit(call))),
            RegistryCall::ListTokens(_) => Reply::Tokens(self.list_tokens()?),
            RegistryCall::ReadAudit(call) => Reply::Page(self.read_audit(&call)?),
            RegistryCall::ExportAudit(call) => Reply::Lines(self.export_audit(&call)?),
            RegistryCall::VerifyAudit(call) => Reply::Verdict(self.verify_audit(&call)?),
        };
        Ok(Step::Reply(Box::new(reply)))
    }

    /// Lets an operator know of a row that cannot be read.
    pub(super) fn damaged(&mut self, table: &'static str, damaged: Damaged) {
        self.reports.push(Report::Damaged { table, damaged });
    }
}
