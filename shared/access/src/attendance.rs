//! Whether who opened a live socket may still hold it. A socket lives longer than a request, so what let it in is asked
//! for again: whenever something is told, and with each change of the tokens.

use weir_core::limits::LIVE_SOCKETS_A_HOLDER_MAX;
use weir_core::units::EpochMs;
use weir_wire::access::BOOTSTRAP;
use weir_wire::operator::live_holder::LiveHolder;

use super::session::Session;
use super::table::AccessTable;

/// What is known when holders are judged.
#[derive(Clone, Copy)]
pub struct Attendance<'a> {
    /// The tokens; `None` before they were heard of: then nobody but the clock ends a socket.
    pub table: Option<&'a AccessTable>,
    /// Whether the bootstrap token is accepted beside admins' tokens.
    pub rearmed: bool,
    /// The time.
    pub now: EpochMs,
}

impl Attendance<'_> {
    /// Whether a holder may keep its socket: until its token is revoked, has another role, its session is ended, or is
    /// over.
    #[must_use]
    pub fn permits(&self, holder: &LiveHolder) -> bool {
        let over = holder.expires_at.is_some_and(|end| end <= self.now);
        !over && self.table.is_none_or(|table| self.is_known(table, holder))
    }

    fn is_known(&self, table: &AccessTable, holder: &LiveHolder) -> bool {
        if holder.provided {
            return true;
        }
        let valid = if holder.name == BOOTSTRAP {
            self.rearmed || table.bootstrap()
        } else {
            let principal = table.principal(&holder.name, self.now);
            principal.is_some_and(|principal| principal.role == holder.role)
        };
        valid && !ended(table, holder)
    }

    /// Whether a holder finds a place beside those who hold sockets.
    #[must_use]
    pub fn has_place<'h>(
        &self,
        holder: &LiveHolder,
        others: impl Iterator<Item = &'h LiveHolder>,
    ) -> bool {
        let same = |other: &&LiveHolder| {
            other.name == holder.name && other.provided == holder.provided && self.permits(other)
        };
        others.filter(same).count() < LIVE_SOCKETS_A_HOLDER_MAX
    }
}

fn ended(table: &AccessTable, holder: &LiveHolder) -> bool {
    let (Some(opened), Some(expires_at)) = (&holder.session, holder.expires_at) else {
        return false;
    };
    let session = Session {
        token: holder.name.clone(),
        id: opened.id.clone(),
        expires_at,
    };
    // A newer key than the session's seals when all sessions were ended.
    opened.seal < table.seals().newest() || table.has_ended(&session)
}

#[cfg(test)]
mod tests {
    use weir_wire::role::Role;

    use super::*;

    fn holder(name: &str, provided: bool, expires_at: Option<EpochMs>) -> LiveHolder {
        LiveHolder {
            name: name.to_owned(),
            provided,
            role: Role::Viewer,
            session: None,
            expires_at,
        }
    }

    #[test]
    fn only_live_sockets_of_the_same_holder_take_its_places() {
        let attendance = Attendance {
            table: None,
            rearmed: false,
            now: EpochMs(1_000),
        };
        let mine = holder("token", false, None);
        let with = |other: &LiveHolder, fewer: usize| {
            let others = vec![other.clone(); LIVE_SOCKETS_A_HOLDER_MAX - fewer];
            attendance.has_place(&mine, others.iter())
        };
        assert!(with(&mine, 1));
        assert!(!with(&mine, 0));
        let others = [
            holder("another", false, None),
            holder("token", true, None),
            holder("token", false, Some(EpochMs(1_000))),
        ];
        for other in others {
            assert!(with(&other, 0), "{other:?}");
        }
    }
}
