//! Live sockets end with what let them in. The registry tells each change of the tokens at once; a ledger that missed one
//! asks with the next minute, and whenever a socket is opened.

use weir_shared::access::attendance::Attendance;
use weir_shared::access::table::AccessTable;
use weir_shared::limits::{LIVE_SOCKETS_MAX, REFRESH_MS_MAX};
use weir_shared::units::EpochMs;
use weir_shared::wire::access::SavedAccess;
use weir_shared::wire::operator::live::LiveAsk;
use weir_shared::wire::operator::live_holder::LiveHolder;
use worker::{Date, Env, Request, Response, State, WebSocket, console_error};

use super::Ledger;
use super::live::{Live, asked_of};
use crate::objects::binding::{Address, call};
use crate::objects::calls::{Done, ReadPolicy, TakeAccess};
use crate::objects::rearm::rearmed;
use crate::objects::server::Refused;

/// The code of a socket that is closed because its holder may not hold it any more: one of an application's own (RFC
/// 6455, section 7.4.2), after the status 401.
const NOT_LET_IN: u16 = 4401;

impl Ledger {
    /// Opens a socket for whom the newest tokens let in. Where they cannot be had, those count that are known.
    pub(super) async fn open_live(&self, request: &Request) -> worker::Result<Response> {
        self.read_access().await;
        self.live.open(&self.state, &self.env, request)
    }

    /// Asks for the tokens while somebody holds a socket: a change may not have been heard.
    pub(super) async fn review_live(&self) {
        if self.state.get_websockets().is_empty() {
            return;
        }
        self.read_access().await;
        self.live.dismiss(&self.state, &self.env);
    }

    async fn read_access(&self) {
        // The registry is there already: where it was placed is not changed by a later call.
        let address = Address::registry("");
        let asked = call(&self.env, address, &ReadPolicy::default(), REFRESH_MS_MAX).await;
        let taken = asked.map_err(Refused::from).and_then(|rules| {
            let access = rules.access.as_ref();
            access.map_or(Ok(()), |access| self.live.adopt(access))
        });
        if let Err(refused) = taken {
            console_error!("live: {}", refused.0);
        }
    }

    /// Takes a change of the tokens.
    pub(super) fn take_access(&self, call: &TakeAccess) -> Result<Done, Refused> {
        self.live.adopt(&call.access)?;
        self.live.dismiss(&self.state, &self.env);
        Ok(Done {})
    }
}

impl Live {
    fn adopt(&self, access: &SavedAccess) -> Result<(), Refused> {
        let mut table = self.table.try_borrow_mut()?;
        let known = table.as_ref().map(AccessTable::revision);
        if known.is_none_or(|known| access.revision > known) {
            *table = Some(AccessTable::try_from(access)?);
        }
        Ok(())
    }

    /// Closes the sockets of those who may not hold them any more.
    pub(super) fn dismiss(&self, state: &State, env: &Env) {
        let closed = self.judged(env, |attendance| {
            let sockets = state.get_websockets().into_iter();
            let over = |socket: &WebSocket| {
                let holder = holder_of(socket);
                !holder.is_some_and(|holder| attendance.permits(&holder))
            };
            for socket in sockets.filter(over) {
                socket.close(Some(NOT_LET_IN), Some("not let in any more"))?;
                // It is told nothing more, whether or not its client ever answers the close.
                socket.serialize_attachment(String::new())?;
            }
            Ok(())
        });
        if let Err(refused) = closed {
            console_error!("live: {}", refused.0);
        }
    }

    /// Whether one more socket finds a place.
    pub(super) fn has_place(
        &self,
        state: &State,
        env: &Env,
        asked: &LiveAsk,
    ) -> Result<(), Refused> {
        let others: Vec<_> = state
            .get_websockets()
            .iter()
            .filter_map(holder_of)
            .collect();
        let holder = asked.holder.as_ref();
        self.judged(env, |attendance| {
            let holder = holder.filter(|holder| attendance.permits(holder));
            let holder = holder.ok_or_else(|| Refused("its holder is not let in".to_owned()))?;
            let room = others.len() < LIVE_SOCKETS_MAX;
            if room && attendance.has_place(holder, others.iter()) {
                Ok(())
            } else {
                Err(Refused("no room for another socket".to_owned()))
            }
        })
    }

    /// Whether there are sockets, and when the first of them ends by itself.
    pub(super) fn due(&self, state: &State) -> (bool, Option<EpochMs>) {
        let holders: Vec<_> = state
            .get_websockets()
            .iter()
            .filter_map(holder_of)
            .collect();
        let ends = holders.iter().filter_map(|holder| holder.expires_at);
        (!holders.is_empty(), ends.min())
    }

    fn judged<R>(
        &self,
        env: &Env,
        judge: impl FnOnce(Attendance<'_>) -> Result<R, Refused>,
    ) -> Result<R, Refused> {
        let table = self.table.try_borrow()?;
        judge(Attendance {
            table: table.as_ref(),
            rearmed: rearmed(env),
            now: EpochMs(Date::now().as_millis()),
        })
    }
}

fn holder_of(socket: &WebSocket) -> Option<LiveHolder> {
    asked_of(socket)?.holder
}
