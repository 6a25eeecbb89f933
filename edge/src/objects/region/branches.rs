//! How many branches a region has: its own object decides that by who was heard of, and tells its branches.

use weir_shared::federation::branch::{self, Branches, Heard};
use weir_shared::limits::BRANCH_ISOLATES;
use weir_shared::units::EpochMs;
use worker::Env;

use super::{Core, Machine};
use crate::objects::server::Refused;
use crate::objects::storage::{Database, integer, number};

pub(super) const SCHEMA: &[&str] =
    &["CREATE TABLE IF NOT EXISTS branches (id INTEGER PRIMARY KEY, number INTEGER)"];

/// The variable that says how many isolates a branch is meant to have.
const VARIABLE: &str = "WEIR_BRANCH_ISOLATES";

/// What one of a region's objects knows of its branches.
pub(super) enum Branching {
    /// The region's own object decides.
    Decided(Branches),
    /// A branch was told, or not yet in this life.
    Told(Option<u32>),
}

impl Branching {
    /// What the object of that number starts with.
    ///
    /// # Errors
    /// The database's words.
    pub(super) fn wake(
        database: &Database,
        env: &Env,
        object: u32,
        now: EpochMs,
    ) -> Result<Self, Refused> {
        if object != 0 {
            return Ok(Self::Told(None));
        }
        let row = database.first("SELECT number FROM branches WHERE id = 1", vec![])?;
        let stored = row.and_then(|row| integer(row.first())).unwrap_or(0);
        let said = env.var(VARIABLE).ok();
        let said = said.and_then(|value| value.to_string().parse().ok());
        let each = said
            .filter(|each: &u64| *each > 0)
            .unwrap_or(BRANCH_ISOLATES);
        let stored = u32::try_from(stored).unwrap_or(0);
        Ok(Self::Decided(Branches::wake(stored, each, now)))
    }

    /// How many there are, as far as is known.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Decided(branches) => Some(branches.number()),
            Self::Told(number) => *number,
        }
    }

    /// What is above a branch tells.
    pub(super) fn told(&mut self, branches: u32) {
        if let Self::Told(number) = self {
            *number = Some(branches);
        }
    }

    fn due(&self, heard: &mut Heard, now: EpochMs) -> Option<u32> {
        match self {
            Self::Decided(branches) => branches.due(heard, now),
            Self::Told(_) => None,
        }
    }

    fn written(&mut self, number: u32, now: EpochMs) {
        if let Self::Decided(branches) = self {
            branches.written(number, now);
        }
    }
}

impl Machine {
    /// Whether the object is a branch, and not the region's own.
    pub(super) fn is_branch(&self) -> bool {
        self.number != 0
    }

    /// The names of the branches below the object.
    pub(super) fn below(&self) -> Vec<String> {
        let branches = self.branches.number().unwrap_or(0);
        let below = branch::below(self.number, branches);
        below
            .map(|number| branch::name_of(&self.region, number))
            .collect()
    }
}

impl Core {
    /// Takes another number of branches where the isolates that were heard of ask for it. It is told with the next contacts.
    pub(super) fn branch_out(&self) -> Result<(), Refused> {
        let due = self.with(|machine, now| machine.branches.due(&mut machine.heard, now))?;
        let Some(branches) = due else {
            return Ok(());
        };
        let statement = "INSERT OR REPLACE INTO branches (id, number) VALUES (1, ?)";
        let values = vec![number(branches.into())];
        self.database.run(statement, values)?;
        self.with(|machine, now| machine.branches.written(branches, now))
    }
}
