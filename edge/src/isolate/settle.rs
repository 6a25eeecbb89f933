//! Settling a reservation: first the region that charged it says what was used, once and for all; then the shards of
//! its keys are told.

use futures_util::future::join_all;
use weir_shared::accounting::reserved::Settled;
use weir_shared::algorithms::composite::StateKey;
use weir_shared::federation::pool_name::is_budget;
use weir_shared::limiting::messages::{DebtBody, ReturnBody, SettleKeysBody};
use weir_shared::limiting::reservation::{Change, Place, Reservation, Reserved};
use weir_shared::limiting::settlement::{PoolChange, SettleBody};
use weir_shared::limits::{OPERATOR_CALL_MS_MAX, REFRESH_MS_MAX, RESERVATION_MS};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::EpochMs;
use weir_shared::wire::accounting::ANONYMOUS;
use weir_shared::wire::count::Count;
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::limit_terms::LimitTerms;
use weir_shared::wire::policy::Scope;
use weir_shared::wire::settle::SettledBody;
use weir_shared::wire::windows::{HeldPart, TenantPart, WindowPart};

use super::contact::{schedule_flush, send};
use super::kept::{shard_of, terms_of};
use super::loaded::Loaded;
use super::memory::{now, with};
use super::request::RequestHandles;
use crate::http::failure::Failure;
use crate::objects::binding::{Address, CallError, KeyShard, call};
use crate::objects::deadline::within;

/// What a settlement changed, in units of each charge.
#[derive(Clone, Copy, Default)]
struct Changed {
    back: u64,
    debt: u64,
}

/// Settles a reservation; a second settlement answers the first result.
///
/// # Errors
/// 503 when the region that charged it, or one of its shards, does not answer: the settlement can be tried again.
pub async fn settle(
    handles: &RequestHandles,
    loaded: &Loaded,
    reservation: &Reservation,
    actual: u64,
) -> Result<SettledBody, Failure> {
    let mut changed = vec![Changed::default(); reservation.charges.len()];
    let actual = settle_pools(handles, reservation, actual, &mut changed).await?;
    settle_keys(handles, loaded, reservation, actual, &mut changed).await?;
    let reserved = reservation.cost();
    let mut body = SettledBody {
        reserved,
        actual,
        refunded: 0,
        debt: 0,
    };
    // What is told is of the cost that was reserved; a weight makes it more units of a limit, and these count alike.
    let main = reservation.charges.iter().zip(&changed);
    if let Some((charge, changed)) = main.into_iter().find(|(charge, _)| charge.cost == reserved) {
        body.refunded = unweighted(changed.back, charge);
        body.debt = unweighted(changed.debt, charge);
    }
    Ok(body)
}

/// Counts as used in full what a reservation was made for that never left this Worker, and that nobody settles any more.
///
/// # Errors
/// When the isolate decides for too many regions.
pub fn keep(
    handles: &RequestHandles,
    loaded: &Loaded,
    reservation: &Reservation,
) -> Result<(), Failure> {
    let tenant = reservation.tenant.as_deref().unwrap_or(ANONYMOUS);
    let known = loaded.policy.tiers.named(tenant).is_some();
    with(&reservation.region, |view| {
        let pending = view.outbox.pending();
        for counted in &reservation.counted {
            pending.settle(&Settled {
                tenant,
                known,
                charged: counted.of.charged(&counted.name),
                until: reservation.expires_at,
                reserved: counted.cost,
                used: counted.cost,
            });
        }
        for charge in &reservation.charges {
            let Place::Pool { pool, label, .. } = &charge.place else {
                continue;
            };
            if reservation.counted.is_empty() || !is_budget(pool) {
                continue;
            }
            let units = Count(charge.units.into());
            let part = TenantPart {
                known,
                admitted: units,
                ..TenantPart::default()
            };
            let held = HeldPart {
                released: units,
                ..HeldPart::default()
            };
            let mut window = WindowPart::one(tenant, part);
            window.hold(reservation.expires_at, tenant, held);
            let labels = OrderedMap::from([(*label, window)]);
            pending.merge_windows(&OrderedMap::from([(pool.clone(), labels)]));
        }
    })?;
    schedule_flush(handles, &reservation.region)
}

fn unweighted(units: u64, charge: &Reserved) -> u64 {
    let cost = u128::from(units) * u128::from(charge.cost) / u128::from(charge.units.max(1));
    u64::try_from(cost).unwrap_or(u64::MAX)
}

async fn settle_pools(
    handles: &RequestHandles,
    reservation: &Reservation,
    actual: u64,
    changed: &mut [Changed],
) -> Result<u64, Failure> {
    let mut pools = Vec::new();
    let mut places = Vec::new();
    let changes = reservation.settle(actual);
    for (index, (charge, change)) in reservation.charges.iter().zip(&changes).enumerate() {
        if let Place::Pool {
            pool,
            label,
            tenant,
        } = &charge.place
        {
            places.push(index);
            pools.push(PoolChange {
                pool: pool.clone(),
                tenant: tenant.clone(),
                label: *label,
                back: change.back,
                debt: change.debt,
                // Without a count of its own it was counted when it was made.
                reserved: match reservation.counted.is_empty() {
                    true => 0,
                    false => charge.units,
                },
            });
        }
    }
    let body = SettleBody {
        v: VERSION,
        region: reservation.region.clone(),
        op: reservation.op,
        actual,
        expires_at: reservation.expires_at.plus(RESERVATION_MS),
        pools,
        account: reservation.account.clone(),
        accounted: reservation.accounted(actual),
    };
    let region = Address::region(&reservation.region);
    let answer = call(&handles.env, region, &body, OPERATOR_CALL_MS_MAX).await;
    let reply = answer.map_err(unavailable)?;
    let results = reply.returned.iter().zip(&reply.charged);
    for ((index, pool), (back, debt)) in places.iter().zip(&body.pools).zip(results) {
        changed[*index] = Changed {
            back: *back,
            debt: *debt,
        };
        look_again(handles, &reservation.region, pool, *back).await?;
    }
    Ok(reply.actual)
}

/// Hears of the pool at once, where this isolate holds a lease of it: it may have more now, or less. What came back was no
/// demand.
async fn look_again(
    handles: &RequestHandles,
    region: &str,
    PoolChange { pool, tenant, .. }: &PoolChange,
    back: u64,
) -> Result<(), Failure> {
    let at = now();
    with(region, |view| {
        if let Some(holder) = view.leases.known(pool) {
            holder.came_to_less(tenant.as_deref(), back);
        }
        let terms = view
            .loaded
            .as_ref()
            .and_then(|loaded| loaded.policy.terms(pool, region, loaded.revision, at));
        if let Some(terms) = terms {
            view.leases.look_again(pool, terms, at);
        }
    })?;
    if let Some(landing) = send(handles, region, pool)? {
        let _late = within(REFRESH_MS_MAX, landing).await;
    }
    Ok(())
}

async fn settle_keys(
    handles: &RequestHandles,
    loaded: &Loaded,
    reservation: &Reservation,
    actual: u64,
    changed: &mut [Changed],
) -> Result<(), Failure> {
    let mut shards: OrderedMap<KeyShard, Vec<(usize, Change)>> = OrderedMap::new();
    for (index, change) in reservation.settle(actual).into_iter().enumerate() {
        if let Place::Key { key, global, .. } = &reservation.charges[index].place {
            let scope = match global {
                true => Scope::Global,
                false => Scope::Region,
            };
            let shard = shard_of(loaded, &reservation.region, scope, key);
            shards.entry(shard).or_default().push((index, change));
        }
    }
    let at = now();
    let asked: Vec<_> = shards
        .into_iter()
        .map(|(shard, changes)| (shard, keys_body(loaded, reservation, &changes, at)))
        .collect();
    let calls = asked.iter().map(|(name, (body, _, _))| {
        call(
            &handles.env,
            Address::keys(name),
            body,
            OPERATOR_CALL_MS_MAX,
        )
    });
    for (answer, (_, (_, backs, debts))) in join_all(calls).await.into_iter().zip(&asked) {
        let reply = answer.map_err(unavailable)?;
        for (index, units) in backs.iter().zip(reply.returned) {
            changed[*index].back = units;
        }
        for (index, units) in debts.iter().zip(reply.charged) {
            changed[*index].debt = units;
        }
    }
    Ok(())
}

/// The settlement of one shard, and which charge each of its entries is.
fn keys_body(
    loaded: &Loaded,
    reservation: &Reservation,
    changes: &[(usize, Change)],
    now: EpochMs,
) -> (SettleKeysBody, Vec<usize>, Vec<usize>) {
    let mut limits: Vec<LimitTerms> = Vec::new();
    let (mut returns, mut debts) = (Vec::new(), Vec::new());
    let (mut backs_of, mut debts_of) = (Vec::new(), Vec::new());
    for (index, change) in changes {
        let Place::Key {
            limit,
            key,
            receipt,
            ..
        } = &reservation.charges[*index].place
        else {
            continue;
        };
        // A limit that the policy does not have any more has no state to change.
        let state = StateKey {
            limit: limit.clone(),
            key: key.clone(),
        };
        let Some(terms) = terms_of(loaded, &state, receipt.scale, now) else {
            continue;
        };
        if !limits.contains(&terms) {
            limits.push(terms);
        }
        if change.back > 0 {
            backs_of.push(*index);
            returns.push(ReturnBody {
                limit: limit.clone(),
                key: key.clone(),
                units: change.back,
                receipt: receipt.clone(),
            });
        }
        if change.debt > 0 {
            debts_of.push(*index);
            debts.push(DebtBody {
                limit: limit.clone(),
                key: key.clone(),
                units: change.debt,
                kept: receipt.kept.clone(),
            });
        }
    }
    let body = SettleKeysBody {
        v: VERSION,
        op: reservation.op,
        expires_at: reservation.expires_at.plus(RESERVATION_MS),
        limits,
        returns,
        debts,
    };
    (body, backs_of, debts_of)
}

fn unavailable(error: CallError) -> Failure {
    Failure::Unavailable {
        what: error.to_string(),
    }
}
