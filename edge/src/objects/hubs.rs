//! What the holders of overloaded resources have together, as an object keeps it for its children: a [`Hub`] a
//! resource, each a row. A region's object keeps them for its isolates, and is itself a child of the one at home.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use weir_shared::limits::{OVERLOAD_RESOURCES_MAX, OVERLOAD_STORE_MS};
use weir_shared::name::label;
use weir_shared::ordered::OrderedMap;
use weir_shared::overload::hub::Hub;
use weir_shared::units::{EpochMs, HolderId, Incarnation};
use weir_shared::wire::overload::{ShareBody, ShareReply, StoredOverload};
use weir_shared::wire::shares::{SharesBody, SharesReply};
use weir_shared::wire::stored::read_row;
use worker::{Date, State, console_error};

use super::deadline::sleep;
use super::server::Refused;
use super::storage::{Database, report_damaged, text, wrong_type};

/// The table of the rows.
pub const SCHEMA: &str =
    "CREATE TABLE IF NOT EXISTS overload (resource TEXT PRIMARY KEY, body TEXT)";

/// The hubs of one object.
pub struct Hubs {
    state: Rc<State>,
    database: Database,
    hubs: RefCell<OrderedMap<String, Hub>>,
    /// The last life that a hub was given: each is a later one, also of a resource that was dropped and came back.
    life: Cell<Incarnation>,
    storing: Cell<bool>,
}

impl Hubs {
    /// None yet: rows are read when their resource is told of.
    #[must_use]
    pub fn new(state: Rc<State>, database: Database) -> Self {
        Self {
            state,
            database,
            hubs: RefCell::default(),
            life: Cell::default(),
            storing: Cell::new(false),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hubs.try_borrow().is_ok_and(|hubs| hubs.is_empty())
    }

    /// Takes what a child has to say. A message that cannot be taken is reported and has no answer. `life` is that of
    /// the object, which rises whenever it wakes.
    ///
    /// # Errors
    /// The database's words.
    pub fn take(
        self: &Rc<Self>,
        body: &SharesBody,
        life: Incarnation,
        now: EpochMs,
    ) -> Result<SharesReply, Refused> {
        let mut replies = Vec::with_capacity(body.shares.len());
        for share in body.shares.iter().take(OVERLOAD_RESOURCES_MAX) {
            match self.take_one(body.holder, share, life, now) {
                Ok(reply) => replies.push(reply),
                Err(refused) => console_error!("overload {}: {}", share.resource, refused.0),
            }
        }
        self.schedule_store();
        Ok(SharesReply { replies })
    }

    fn take_one(
        &self,
        holder: HolderId,
        share: &ShareBody,
        life: Incarnation,
        now: EpochMs,
    ) -> Result<ShareReply, Refused> {
        let name = &share.resource;
        label(name)?;
        let mut hubs = self.hubs.try_borrow_mut()?;
        if !hubs.contains_key(name) {
            if hubs.len() >= OVERLOAD_RESOURCES_MAX {
                self.purge(&mut hubs, now)?;
            }
            if hubs.len() >= OVERLOAD_RESOURCES_MAX {
                return Err(Refused("there is no room for another resource".to_owned()));
            }
            hubs.insert(name.clone(), self.wake(share, life, now)?);
        }
        match hubs.get_mut(name) {
            Some(hub) => Ok(hub.take(holder, share, now)?),
            None => Err(Refused("no hub".to_owned())),
        }
    }

    /// The hub as it was stored, or a new one. A row that cannot be read is reported: nobody is denied by it.
    fn wake(&self, share: &ShareBody, life: Incarnation, now: EpochMs) -> Result<Hub, Refused> {
        let life = Incarnation(life.0.max(self.life.get().0 + 1));
        self.life.set(life);
        let query = "SELECT body FROM overload WHERE resource = ?";
        let name = share.resource.as_str();
        if let Some(row) = self.database.first(query, vec![name.into()])? {
            let body = text(row.first()).ok_or_else(|| wrong_type("body"));
            match body.and_then(read_row::<StoredOverload>) {
                Ok(stored) => match Hub::wake(&stored, life, now) {
                    Ok(hub) => return Ok(hub),
                    Err(refused) => console_error!("damaged row overload {name}: {refused}"),
                },
                Err(damaged) => report_damaged("overload", &damaged),
            }
        }
        Ok(Hub::new(name, life, &share.terms, now)?)
    }

    /// Drops the hubs that a new one would equal, with their rows.
    fn purge(&self, hubs: &mut OrderedMap<String, Hub>, now: EpochMs) -> Result<(), Refused> {
        let idle: Vec<String> = hubs
            .iter()
            .filter(|(_, hub)| hub.idle(now))
            .map(|(name, _)| name.clone())
            .collect();
        let statement = "DELETE FROM overload WHERE resource = ?";
        let rows = idle
            .iter()
            .map(|name| (statement, vec![name.as_str().into()]));
        self.database.atomically(rows.collect())?;
        hubs.retain(|name, _| !idle.contains(name));
        Ok(())
    }

    /// What is to be told to the parent.
    ///
    /// # Errors
    /// When the hubs are in use.
    pub fn shares(&self, now: EpochMs) -> Result<Vec<ShareBody>, Refused> {
        let mut hubs = self.hubs.try_borrow_mut()?;
        Ok(hubs.values_mut().filter_map(|hub| hub.share(now)).collect())
    }

    /// Takes the parent's answers.
    ///
    /// # Errors
    /// When the hubs are in use.
    pub fn learn(self: &Rc<Self>, replies: &[ShareReply], now: EpochMs) -> Result<(), Refused> {
        let mut hubs = self.hubs.try_borrow_mut()?;
        for reply in replies {
            if let Some(hub) = hubs.get_mut(&reply.resource) {
                hub.learn(reply, now);
            }
        }
        drop(hubs);
        self.schedule_store();
        Ok(())
    }

    /// Makes sure that what changed is written within [`OVERLOAD_STORE_MS`], in one transaction. Until then the object
    /// stays awake.
    fn schedule_store(self: &Rc<Self>) {
        let unstored = self
            .hubs
            .try_borrow()
            .is_ok_and(|hubs| hubs.values().any(Hub::unstored));
        if !unstored || self.storing.replace(true) {
            return;
        }
        let hubs = Rc::clone(self);
        self.state.wait_until(async move {
            sleep(OVERLOAD_STORE_MS).await;
            if let Err(refused) = hubs.store() {
                console_error!("overload: {}", refused.0);
            }
            hubs.storing.set(false);
        });
    }

    fn store(&self) -> Result<(), Refused> {
        let now = EpochMs(Date::now().as_millis());
        let statement = "INSERT OR REPLACE INTO overload (resource, body) VALUES (?, ?)";
        let mut hubs = self.hubs.try_borrow_mut()?;
        let mut rows = Vec::new();
        for (name, hub) in hubs.iter_mut().filter(|(_, hub)| hub.unstored()) {
            let body = serde_json::to_string(&hub.stored(now))?;
            rows.push((statement, vec![name.as_str().into(), body.into()]));
        }
        self.database.atomically(rows)
    }
}
