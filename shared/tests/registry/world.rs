//! A registry at work: carries out what its node says, and can die between any two events.

use weir_shared::access::token::{ID_BYTES, KEY_BYTES, SECRET_BYTES};
use weir_shared::node::registry::{
    Effect, Entropy, Event, Failure, News, Put, RegistryCall, RegistryNode, Reply, Report,
};
use weir_shared::units::{EpochMs, Revision};
use weir_shared::wire::access::{TokenReply, TokenRequest};
use weir_shared::wire::audit::{AuditVerdict, Author};
use weir_shared::wire::policy::PolicyDocument;
use weir_shared::wire::registry::{
    CreateToken, Created, ReadPolicy, Rules, SavePolicy, Saved, VerifyAudit,
};
use weir_shared::wire::role::Role;

use super::table::{Table, shipped};

/// Wrong orders of whoever carries out what a node says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The answer leaves before the rows are written, and the registry dies in between.
    ReplyBeforeWrite,
    /// Regions are told before the rows are written, and the registry dies in between.
    TellBeforeWrite,
    /// A write that failed is told as done.
    FailedWriteIgnored,
    /// A write that was done is told as failed.
    WriteToldAsFailed,
    /// A change is written without its record.
    RecordNotWritten,
    /// A record is written without its change.
    ChangeNotWritten,
    /// What the log has is not written with the record.
    HeadNotWritten,
}

pub(crate) struct World {
    pub(super) table: Table,
    pub(super) node: RegistryNode<u8>,
    pub(super) now: EpochMs,
    pub(super) sent: Vec<News>,
    pub(super) reports: Vec<Report>,
    /// How many writes succeed before one fails.
    pub(super) fails_after: Option<u64>,
    pub(super) broken: Option<Broken>,
    pub(super) drawn: u8,
}

pub(super) fn database(message: &str) -> Failure {
    let message = message.to_owned();
    Failure::Database { message }
}

pub(super) fn ada() -> Author {
    Author {
        token: Some("k1".to_owned()),
        role: Some(Role::Admin),
        ..Author::named("ada")
    }
}

pub(super) fn save(expected: u64, limit: u64) -> RegistryCall {
    let mut document = shipped();
    document.budgets.get_mut("tokens").unwrap().limit = Some(limit);
    save_document(Some(Revision(expected)), document)
}

pub(super) fn save_document(expected: Option<Revision>, document: PolicyDocument) -> RegistryCall {
    RegistryCall::Save(Box::new(SavePolicy {
        expected,
        document,
        author: ada(),
    }))
}

pub(super) fn create(name: &str) -> RegistryCall {
    RegistryCall::CreateToken(CreateToken {
        token: TokenRequest {
            name: name.to_owned(),
            role: Role::Viewer,
            tenant: None,
            prefix: None,
            expires_at: None,
        },
        author: ada(),
    })
}

impl Default for World {
    fn default() -> Self {
        Self {
            table: Table::default(),
            node: RegistryNode::default(),
            now: EpochMs(1_700_000_000_000),
            sent: Vec::new(),
            reports: Vec::new(),
            fails_after: None,
            broken: None,
            drawn: 0,
        }
    }
}

impl World {
    /// A registry that has been asked what is in force.
    pub(super) fn awake() -> Self {
        let mut world = Self::default();
        world.read();
        world
    }

    /// The object dies and wakes.
    pub(super) fn die(&mut self) {
        self.node = RegistryNode::default();
    }

    pub(super) fn pass(&mut self, ms: u64) {
        self.now = self.now.plus(ms);
    }

    /// A call. Its random bytes are those of no other.
    pub(super) fn asked(&mut self, caller: u8, ask: RegistryCall) -> Event<u8> {
        self.drawn = self.drawn.wrapping_add(1);
        let byte = self.drawn;
        let entropy = Box::new(Entropy {
            placement: [byte; 16],
            token_key: [byte; KEY_BYTES],
            seal_key: [byte; KEY_BYTES],
            token_id: [byte; ID_BYTES],
            token_secret: [byte; SECRET_BYTES],
        });
        Event::Asked {
            caller,
            ask,
            entropy,
        }
    }

    /// One event, of which nothing is carried out.
    pub(super) fn step(&mut self, event: Event<u8>) -> Vec<Effect<u8>> {
        self.node.step(event, &self.table, self.now)
    }

    /// A call, with all that it takes: the answer, or why there is none. `Err(None)` where the registry died.
    pub(super) fn ask(&mut self, ask: RegistryCall) -> Result<Reply, Option<Failure>> {
        let event = self.asked(1, ask);
        let mut effects = self.step(event);
        loop {
            let mut next = None;
            for effect in effects {
                match effect {
                    Effect::Persist(puts) => match self.persist(puts)? {
                        Ok(event) => next = Some(event),
                        Err(reply) => return Ok(reply),
                    },
                    Effect::Send(news) => self.sent.push(*news),
                    Effect::Reply(_, reply) => return Ok(*reply),
                    Effect::Fail(_, failure) => return Err(Some(failure)),
                    Effect::Report(report) => self.reports.push(report),
                }
            }
            effects = self.step(next.expect("an answer or a write"));
        }
    }

    /// Writes rows: what is said of it, or what leaves before its time.
    fn persist(&mut self, mut puts: Vec<Put>) -> Result<Result<Event<u8>, Reply>, Option<Failure>> {
        let fails = self.fails_after == Some(0);
        self.fails_after = self.fails_after.and_then(|after| after.checked_sub(1));
        let is_change = |put: &Put| matches!(put, Put::Policy { .. } | Put::Token { .. });
        let changes = puts.iter().any(is_change) && puts.len() > 2;
        match self.broken {
            Some(Broken::ReplyBeforeWrite | Broken::TellBeforeWrite) if changes => {
                return self.dies_before_the_write();
            }
            Some(Broken::RecordNotWritten) => {
                puts.retain(|put| !matches!(put, Put::Record { .. } | Put::Head(_)));
            }
            Some(Broken::ChangeNotWritten) if changes => puts.retain(|put| !is_change(put)),
            Some(Broken::HeadNotWritten) => puts.retain(|put| !matches!(put, Put::Head(_))),
            _ => {}
        }
        if !fails {
            self.table.write(puts);
        }
        let failed = match self.broken {
            Some(Broken::FailedWriteIgnored) => false,
            Some(Broken::WriteToldAsFailed) if changes => true,
            _ => fails,
        };
        let failed = failed.then(|| database("disk full"));
        Ok(Ok(failed.map_or(Event::Persisted, Event::NotPersisted)))
    }

    /// What would leave after the write is known; the registry dies before the rows are there.
    fn dies_before_the_write(&mut self) -> Result<Result<Event<u8>, Reply>, Option<Failure>> {
        let effects = self.step(Event::Persisted);
        self.die();
        let mut reply = None;
        for effect in effects {
            match (effect, self.broken) {
                (Effect::Send(news), Some(Broken::TellBeforeWrite)) => self.sent.push(*news),
                (Effect::Reply(_, answer), Some(Broken::ReplyBeforeWrite)) => reply = Some(*answer),
                _ => {}
            }
        }
        reply.map_or(Err(None), |reply| Ok(Err(reply)))
    }

    pub(super) fn read(&mut self) -> Rules {
        self.read_beyond(ReadPolicy::default())
    }

    pub(super) fn read_beyond(&mut self, call: ReadPolicy) -> Rules {
        match self.ask(RegistryCall::Read(call)) {
            Ok(Reply::Rules(rules)) => *rules,
            other => panic!("no rules: {other:?}"),
        }
    }

    pub(super) fn saved(&mut self, ask: RegistryCall) -> Saved {
        match self.ask(ask) {
            Ok(Reply::Saved(saved)) => saved,
            other => panic!("nothing about a policy: {other:?}"),
        }
    }

    pub(super) fn created(&mut self, name: &str) -> TokenReply {
        match self.ask(create(name)) {
            Ok(Reply::Created(Created::Done(token))) => token,
            other => panic!("no token: {other:?}"),
        }
    }

    pub(super) fn verified(&mut self) -> AuditVerdict {
        let call = VerifyAudit {
            after: 0,
            previous: String::new(),
            limit: u64::MAX,
        };
        match self.ask(RegistryCall::VerifyAudit(call)) {
            Ok(Reply::Verdict(verdict)) => verdict,
            other => panic!("no verdict: {other:?}"),
        }
    }

    /// The actions of the records, the oldest first.
    pub(super) fn actions(&self) -> Vec<String> {
        let rows = self.table.audit.values();
        rows.map(|row| {
            let (action, outcome) = (row.action.as_deref(), row.outcome.as_deref());
            format!("{} {}", action.unwrap(), outcome.unwrap())
        })
        .collect()
    }
}
