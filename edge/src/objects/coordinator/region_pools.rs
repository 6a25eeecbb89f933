//! Windows split between regions by weight: a [`RegionPool`] a name, each a row. What fair sharing over the whole
//! deployment is measured against.

use weir_shared::federation::region_pool::{RegionPool, RegionPoolState, WeightSum};
use weir_shared::name::label;
use weir_shared::units::EpochMs;
use weir_shared::wire::region_pool::{RegionPoolAsk, RegionPoolBody, RegionPoolReply};
use weir_shared::wire::stored::read_row;
use worker::Date;

use super::Coordinator;
use crate::objects::server::Refused;
use crate::objects::storage::{text, wrong_type};

impl Coordinator {
    /// One event: read, decide, make durable, reply. A row that cannot be read is not guessed at.
    pub(super) fn split(&self, body: &RegionPoolBody) -> Result<RegionPoolReply, Refused> {
        label(&body.pool)?;
        let mut pool = match self.stored_split(&body.pool)? {
            Some(pool) if (pool.limit(), pool.window_ms()) == (body.limit, body.window_ms) => pool,
            Some(_) => return Err(Refused(format!("{} has other terms", body.pool))),
            None => RegionPool::new(body.limit, body.window_ms)?,
        };
        let now = body.at.unwrap_or(EpochMs(Date::now().as_millis()));
        let granted = match &body.ask {
            RegionPoolAsk::Grant {
                region,
                weight_micros,
                want,
            } => {
                label(region)?;
                let weight = WeightSum::from_micros(weight_micros.0)?;
                pool.grant(region, weight, *want, now)?
            }
            RegionPoolAsk::Release { region } => {
                pool.release(region);
                0
            }
        };
        let statement = "INSERT OR REPLACE INTO region_pools (name, body) VALUES (?, ?)";
        let row = serde_json::to_string(&pool.state())?;
        let values = vec![body.pool.as_str().into(), row.into()];
        self.database.run(statement, values)?;
        Ok(RegionPoolReply {
            granted,
            granted_total: pool.granted_total(),
        })
    }

    fn stored_split(&self, name: &str) -> Result<Option<RegionPool>, Refused> {
        let query = "SELECT body FROM region_pools WHERE name = ?";
        let Some(row) = self.database.first(query, vec![name.into()])? else {
            return Ok(None);
        };
        let body = text(row.first()).ok_or_else(|| wrong_type("body"))?;
        let state: RegionPoolState = read_row(body)?;
        Ok(Some(RegionPool::try_from(state)?))
    }
}
