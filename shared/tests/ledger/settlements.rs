//! What is reserved is used as it is settled, once, whatever dies: a ledger tells what the driver's own books say.

use proptest::prelude::*;
use weir_shared::accounting::counters::{Charged, Decided, Entry};
use weir_shared::accounting::frame::Outbox;
use weir_shared::accounting::interval::SUM_ROW;
use weir_shared::accounting::pending::{InWindow, WindowClaim};
use weir_shared::accounting::reserved::Settled;
use weir_shared::decision::Reason;
use weir_shared::limiting::owner::Account;
use weir_shared::limiting::reservation::{Counted, Place, Reservable, Reservation, Reserved};
use weir_shared::limiting::settlement::{PoolChange, SettleBody, SettleReply};
use weir_shared::limits::{HOUR_MS, MINUTE_MS, RESERVATION_GRACE_MS, RESERVATION_MS};
use weir_shared::ordered::OrderedMap;
use weir_shared::units::{EpochMs, OpId, WindowLabel};
use weir_shared::wire::accounting::TenantCounters;
use weir_shared::wire::cells::StoredCell;
use weir_shared::wire::count::Count;
use weir_shared::wire::windows::{HeldPart, TenantPart, WindowPart};

use crate::ledger::region::{Fate, Region};
use crate::ledger::world::{World, outbox};

const BUDGET: &str = "tokens";
const METER: &str = "bytes";
const LABEL: WindowLabel = WindowLabel(3);
const BEGUN: u64 = 10 * MINUTE_MS;

/// No message is under way for longer than this.
const LATE_MS: u64 = RESERVATION_GRACE_MS / 2;

#[derive(Debug, Clone)]
enum Event {
    Decide { tenant: u8, units: u16, entry: u8 },
    Settle { which: usize, percent: u16 },
    Keep { which: usize },
    Isolate { lost: bool },
    Region(Fate),
    Pass { ms: u64 },
    Fold,
    LedgerDies,
    RegionDies,
}

fn fate() -> impl Strategy<Value = Fate> {
    let at = || prop::option::weighted(0.2, 0..12_u8);
    (any::<bool>(), at(), at()).prop_map(|(lost, fails_at, dies_at)| Fate {
        lost,
        fails_at,
        dies_at,
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        5 => (0..4_u8, 1..400_u16, 0..5_u8)
            .prop_map(|(tenant, units, entry)| Event::Decide { tenant, units, entry }),
        4 => (any::<prop::sample::Index>(), 0..250_u16)
            .prop_map(|(which, percent)| Event::Settle { which: which.index(1 << 20), percent }),
        1 => any::<prop::sample::Index>().prop_map(|which| Event::Keep { which: which.index(1 << 20) }),
        3 => any::<bool>().prop_map(|lost| Event::Isolate { lost }),
        3 => fate().prop_map(Event::Region),
        2 => (1..400_000_u64).prop_map(|ms| Event::Pass { ms }),
        1 => Just(Event::Fold),
        1 => Just(Event::LedgerDies),
        1 => Just(Event::RegionDies),
    ]
}

/// What the driver knows of one tenant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Own {
    used: u128,
    reserved: u128,
    denied: u128,
    would_deny: u128,
    calls: u128,
}

/// One reservation, as the driver holds it.
struct Held {
    reservation: Reservation,
    actual: Option<u64>,
}

struct Deployment {
    ledger: World,
    /// The ledger at home, which keeps nothing of a region's own windows.
    home: World,
    isolate: Outbox,
    region: Region,
    held: Vec<Held>,
    own: OrderedMap<String, Own>,
    told_at: EpochMs,
}

impl Deployment {
    fn new() -> Self {
        Self {
            ledger: World::at(BEGUN),
            home: World::at(BEGUN),
            isolate: outbox(7),
            region: Region::new(None),
            held: Vec::new(),
            own: OrderedMap::new(),
            told_at: EpochMs(BEGUN),
        }
    }

    fn window(&self) -> InWindow<'static> {
        InWindow {
            budget: BUDGET,
            label: LABEL,
            limit: 1_000_000,
            ends_at: EpochMs(BEGUN + 30 * 24 * HOUR_MS),
            claim: WindowClaim {
                weight_micros: 1_000_000,
                ..WindowClaim::default()
            },
        }
    }

    /// A budget in its window, and a meter beside it.
    fn decide(&mut self, tenant: u8, units: u64, entry: u8) {
        let name = format!("t{tenant}");
        let until = self.ledger.now.plus(RESERVATION_MS);
        let (entry, reason) = match entry {
            0 | 1 => (Entry::Reservation { until }, Reason::Admitted),
            2 => (Entry::Charge, Reason::Admitted),
            3 => (Entry::Charge, Reason::OverShare),
            _ => (Entry::Shadow, Reason::OverShare),
        };
        for charged in [Charged::Budget(BUDGET), Charged::Meter(METER)] {
            let decided = Decided {
                tenant: &name,
                known: false,
                charged,
                reason,
                units,
            };
            let window = self.window();
            let window = matches!(charged, Charged::Budget(_)).then_some(&window);
            self.isolate.enter(&decided, entry, window);
        }
        let own = self.own.entry(name.clone()).or_default();
        own.calls += 1;
        let counted = match (entry, reason) {
            (Entry::Reservation { .. }, _) => &mut own.reserved,
            (Entry::Shadow, _) => &mut own.would_deny,
            (_, Reason::Admitted) => &mut own.used,
            _ => &mut own.denied,
        };
        *counted += u128::from(units);
        if let Entry::Reservation { until } = entry {
            self.held.push(Held {
                reservation: reservation(&name, units, until),
                actual: None,
            });
        }
    }

    /// Settles one of those that are open, or once more one that is not.
    fn settle(&mut self, which: usize, percent: u64) {
        if self.held.is_empty() {
            return;
        }
        let index = which % self.held.len();
        let held = &mut self.held[index];
        let cost = held.reservation.cost();
        let actual = cost * percent / 100;
        if held.actual.is_some() || self.ledger.now >= held.reservation.expires_at {
            return;
        }
        held.actual = Some(actual);
        let own = self.own.get_mut(&tenant_of(&held.reservation)).unwrap();
        own.reserved -= u128::from(cost);
        own.used += u128::from(actual);
        let (body, reply) = settled(&held.reservation, actual);
        let owns = |_: &str| true;
        let entry = body
            .entry(&reply, &[LABEL], false, ("weur", &owns))
            .unwrap();
        self.region.settle(&entry, self.ledger.now);
    }

    /// The Worker itself says that all of it was used.
    fn keep(&mut self, which: usize) {
        if self.held.is_empty() {
            return;
        }
        let index = which % self.held.len();
        let held = &mut self.held[index];
        if held.actual.is_some() || self.ledger.now >= held.reservation.expires_at {
            return;
        }
        let cost = held.reservation.cost();
        held.actual = Some(cost);
        let name = tenant_of(&held.reservation);
        for counted in &held.reservation.counted {
            self.isolate.pending().settle(&Settled {
                tenant: &name,
                known: false,
                charged: counted.of.charged(&counted.name),
                until: held.reservation.expires_at,
                reserved: cost,
                used: cost,
            });
        }
        let units = Count(cost.into());
        let part = TenantPart {
            admitted: units,
            ..TenantPart::default()
        };
        let released = HeldPart {
            released: units,
            ..HeldPart::default()
        };
        let mut window = WindowPart::one(&name, part);
        window.hold(held.reservation.expires_at, &name, released);
        let labels = OrderedMap::from([(LABEL, window)]);
        let windows = OrderedMap::from([(BUDGET.to_owned(), labels)]);
        self.isolate.pending().merge_windows(&windows);
        let own = self.own.get_mut(&name).unwrap();
        own.reserved -= u128::from(cost);
        own.used += u128::from(cost);
    }

    fn isolate_tells(&mut self, lost: bool) {
        let now = self.ledger.now;
        let Some(frame) = self.isolate.begin(now) else {
            return;
        };
        let sequence = frame.sequence;
        let reply = self.ledger.take(frame).expect("an answer");
        if lost {
            self.isolate.fail(sequence);
        } else {
            self.isolate.finish(&reply);
        }
    }

    fn region_tells(&mut self, fate: Fate) {
        self.region.flush(&mut self.ledger, &mut self.home, fate);
    }

    fn tell_all(&mut self) {
        while !self.isolate.is_empty() {
            self.isolate_tells(false);
        }
        self.region.flush_all(&mut self.ledger, &mut self.home);
        self.told_at = self.ledger.now;
    }

    /// Time passes, a fold a minute, and nothing is under way for long.
    fn pass(&mut self, ms: u64) {
        let end = self.ledger.now.plus(ms);
        while self.ledger.now < end {
            let step_ms = end.since(self.ledger.now).min(LATE_MS);
            if self.ledger.now.plus(step_ms).since(self.told_at) >= LATE_MS {
                self.tell_all();
            }
            self.ledger.now = self.ledger.now.plus(step_ms);
            self.ledger.fold();
            self.expire();
        }
    }

    /// What the driver did not settle in time it has used.
    fn expire(&mut self) {
        let now = self.ledger.now;
        for held in self.held.iter_mut().filter(|held| held.actual.is_none()) {
            let until = held.reservation.expires_at.0.div_ceil(MINUTE_MS) * MINUTE_MS;
            if now.0 >= until + RESERVATION_GRACE_MS {
                let cost = held.reservation.cost();
                held.actual = Some(cost);
                let own = self.own.get_mut(&tenant_of(&held.reservation)).unwrap();
                own.reserved -= u128::from(cost);
                own.used += u128::from(cost);
            }
        }
    }

    fn told(&self) -> OrderedMap<String, [Own; 2]> {
        let totals = self.ledger.books().totals();
        let tenants = totals.counters.iter();
        tenants.map(|(name, of)| (name.clone(), both(of))).collect()
    }
}

fn tenant_of(reservation: &Reservation) -> String {
    reservation.tenant.clone().unwrap()
}

fn both(counters: &TenantCounters) -> [Own; 2] {
    let budget = counters.budgets[BUDGET];
    let meter = counters.meters[METER];
    let calls = budget.admitted_calls.0 + budget.denied_calls.0 + budget.would_deny_calls.0;
    let metered = meter.admitted_calls.0 + meter.shed_calls.0 + meter.would_deny_calls.0;
    [
        Own {
            used: budget.admitted_units.0,
            reserved: budget.reserved_units.0,
            denied: budget.denied_units.0,
            would_deny: budget.would_deny_units.0,
            calls,
        },
        Own {
            used: meter.admitted_units.0,
            reserved: meter.reserved_units.0,
            denied: meter.shed_units.0,
            would_deny: meter.would_deny_units.0,
            calls: metered,
        },
    ]
}

fn reservation(tenant: &str, cost: u64, until: EpochMs) -> Reservation {
    let counted = |of, name: &str| Counted {
        of,
        name: name.to_owned(),
        cost,
    };
    Reservation {
        op: OpId(1),
        region: "weur".to_owned(),
        tenant: Some(tenant.to_owned()),
        account: Account::default(),
        expires_at: until,
        charges: vec![Reserved {
            cost,
            units: cost,
            place: Place::Pool {
                pool: BUDGET.to_owned(),
                label: LABEL,
                tenant: Some(tenant.to_owned()),
            },
        }],
        counted: vec![
            counted(Reservable::Budget, BUDGET),
            counted(Reservable::Meter, METER),
        ],
    }
}

/// As an isolate asks and a region answers: half of what goes back is taken, half of what is owed is charged.
fn settled(reservation: &Reservation, actual: u64) -> (SettleBody, SettleReply) {
    let change = reservation.settle(actual)[0];
    let body = SettleBody {
        v: weir_shared::wire::exchange::VERSION,
        region: reservation.region.clone(),
        op: reservation.op,
        actual,
        expires_at: reservation.expires_at,
        pools: vec![PoolChange {
            pool: BUDGET.to_owned(),
            tenant: reservation.tenant.clone(),
            label: LABEL,
            back: change.back,
            debt: change.debt,
            reserved: reservation.cost(),
        }],
        account: Account::default(),
        accounted: reservation.accounted(actual),
    };
    let reply = SettleReply {
        actual,
        returned: vec![change.back / 2],
        charged: vec![change.debt / 2],
    };
    (body, reply)
}

fn admitted(told: &OrderedMap<String, [Own; 2]>) -> u128 {
    told.values()
        .map(|[budget, meter]| budget.used + meter.used)
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_is_used_is_what_was_settled_whatever_dies_and_never_falls(
        events in prop::collection::vec(event(), 1..100)
    ) {
        let mut world = Deployment::new();
        let mut before = 0;
        for event in events {
            match event {
                Event::Decide { tenant, units, entry } => world.decide(tenant, units.into(), entry),
                Event::Settle { which, percent } => world.settle(which, percent.into()),
                Event::Keep { which } => world.keep(which),
                Event::Isolate { lost } => world.isolate_tells(lost),
                Event::Region(fate) => world.region_tells(fate),
                Event::Pass { ms } => world.pass(ms),
                Event::Fold => world.ledger.fold(),
                Event::LedgerDies => world.ledger.die(),
                Event::RegionDies => world.region.die(),
            }
            let used = admitted(&world.told());
            prop_assert!(used >= before, "{used} after {before}");
            before = used;
        }
        world.tell_all();
        world.ledger.die();
        let expected = |own: &OrderedMap<String, Own>| {
            own.iter().map(|(name, own)| (name.clone(), [*own; 2])).collect::<OrderedMap<_, _>>()
        };
        prop_assert_eq!(world.told(), expected(&world.own));
        // Nobody settles any more: all that is open is used in full, and nothing is left to remember.
        world.pass(RESERVATION_MS + 5 * MINUTE_MS);
        prop_assert_eq!(world.told(), expected(&world.own));
        prop_assert!(world.own.values().all(|own| own.reserved == 0));
        prop_assert!(world.ledger.disk.reservations.is_empty());
        prop_assert!(world.region.rows.is_empty());
        // The minutes and the record of the window say the same.
        let sums = world.ledger.disk.intervals.iter().filter(|((_, row, _), _)| *row == SUM_ROW);
        let minutes: u128 = sums.map(|(_, text)| {
            let cell: StoredCell = serde_json::from_str(text).unwrap();
            let tenants = cell.counters();
            tenants.values().filter_map(|one| one.budgets.get(BUDGET)).map(|one| one.admitted_units.0).sum::<u128>()
        }).sum();
        prop_assert_eq!(minutes, world.own.values().map(|own| own.used).sum::<u128>());
        let record = world.ledger.books().windows().records(Some(BUDGET), world.ledger.now).next();
        let record = record.as_ref();
        for (name, own) in &world.own {
            let one = record.unwrap().tenants.iter().find(|one| one.tenant == *name).unwrap();
            prop_assert_eq!(one.served.0 + one.beyond.0, own.used, "{}", name);
            prop_assert_eq!((one.denied.0, one.would_deny.0, one.reserved.0), (own.denied, own.would_deny, 0));
        }
        if let Some(record) = record {
            prop_assert_eq!(record.admitted.0, record.tenants.iter().map(|one| one.served.0).sum::<u128>());
        }
    }
}

/// The example that says what it is about: 300 settled to 30 and 10 settled to 25 are 55.
#[test]
fn three_hundred_settled_to_thirty_and_ten_settled_to_twenty_five_are_fifty_five() {
    let mut world = Deployment::new();
    world.decide(0, 300, 0);
    world.decide(0, 10, 0);
    world.tell_all();
    let [open, _] = world.told()["t0"];
    assert_eq!((open.used, open.reserved), (0, 310));
    world.settle(0, 10);
    world.settle(1, 250);
    world.tell_all();
    let [settled, _] = world.told()["t0"];
    assert_eq!((settled.used, settled.reserved, settled.calls), (55, 0, 2));
}

/// A settlement that reaches the ledger after its reservation counted as used in full adds what was used beyond alone.
#[test]
fn what_is_told_too_late_is_counted_no_second_time() {
    for (percent, used) in [(10, 300), (200, 600)] {
        let mut world = Deployment::new();
        world.decide(0, 300, 0);
        world.tell_all();
        world.settle(0, percent);
        world.ledger.now = world.ledger.now.plus(RESERVATION_MS + 3 * MINUTE_MS);
        world.ledger.fold();
        world.tell_all();
        let [told, _] = world.told()["t0"];
        assert_eq!((told.used, told.reserved), (used, 0));
    }
}
