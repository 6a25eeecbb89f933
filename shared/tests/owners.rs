//! Whose keys those of a shard are: what one owner invents costs nobody else anything, and what is kept under an owner's
//! overflow is given back, settled and released there.

use proptest::prelude::*;
use weir_shared::access::grant::Principal;
use weir_shared::algorithms::composite::{Mode, StateKey};
use weir_shared::gateway::address::{self, owner};
use weir_shared::limiting::messages::{
    AskedBody, DebtBody, DecideBody, FinishBody, ReturnBody, SettleKeysBody,
};
use weir_shared::limiting::owner::{Account, Asking, Owner, overflow_key};
use weir_shared::limiting::room::{Bounds, Room, Size};
use weir_shared::limits::{
    CALLER_KEYS_MAX, HOLD_MS, HOLDS_MAX, KNOWN_KEYS_MAX, LIMIT_KEYS_MAX, NAMED_KEYS_MAX,
    TENANT_KEYS_MAX, TENANT_STATE_BYTES_MAX,
};
use weir_shared::name::full_key;
use weir_shared::units::{EpochMs, OpId};
use weir_shared::wire::exchange::VERSION;
use weir_shared::wire::policy::Algorithm;
use weir_shared::wire::role::Role;

use crate::shard::store::{Store, decide, key, terms};

const NOW: EpochMs = EpochMs(1_000_000);

fn by_token(token: &str, tenant: &str, named: bool) -> Account {
    let principal = Principal {
        token: Some(token.to_owned()),
        ..Principal::new(token, Role::Service)
    };
    Account::of(Asking::Principal(&principal), Some(tenant), named)
}

fn ask(op: u64, key: &str, cost: u64, account: &Account, known: bool) -> DecideBody {
    let mut body = decide(op, Mode::All, &[("ten", key, cost)], false);
    if let AskedBody::Key {
        account: of,
        known: only,
        ..
    } = &mut body.groups[0].dimensions[0]
    {
        (*of, *only) = (account.clone(), known);
    }
    body
}

fn overflow(owner: &Owner) -> StateKey {
    key("ten", &overflow_key(Some(owner)))
}

/// What others are decided as, with and without one tenant that has invented all that it can.
#[test]
fn others_are_decided_as_if_nobody_had_invented_anything() {
    let loud = by_token("k1", "loud", false);
    let decisions = |attacked: bool| {
        let mut store = Store::default();
        if attacked {
            store.invent(&loud, 2 * TENANT_KEYS_MAX);
        }
        let mut told = Vec::new();
        for (op, (tenant, token, named)) in [
            ("stranger", "k2", false),
            ("acme", "k3", true),
            ("another", "k4", false),
        ]
        .into_iter()
        .enumerate()
        {
            let account = by_token(token, tenant, named);
            for (nth, name) in ["", "a", "b"].iter().enumerate() {
                let name = full_key(Some(tenant), name);
                let op = (10 * op + nth) as u64;
                let body = ask(op, &name, 4, &account, named && nth == 0);
                let reply = store.decide(&body, NOW);
                told.push((reply.admitted, reply.groups[0][0].decision));
            }
        }
        told
    };
    assert_eq!(decisions(true), decisions(false));
    assert!(decisions(true).iter().all(|(admitted, _)| *admitted));
}

#[test]
fn what_one_owner_has_too_many_of_shares_a_state_of_its_own() {
    let mut store = Store::default();
    let (loud, louder) = (
        by_token("k1", "loud", false),
        by_token("k2", "louder", false),
    );
    store.invent(&loud, TENANT_KEYS_MAX);
    store.invent(&louder, TENANT_KEYS_MAX);
    assert!(
        store
            .decide(&ask(1, "loud\u{1}a", 6, &loud, false), NOW)
            .admitted
    );
    assert!(
        !store
            .decide(&ask(2, "loud\u{1}b", 6, &loud, false), NOW)
            .admitted
    );
    assert!(
        store
            .decide(&ask(3, "louder\u{1}a", 6, &louder, false), NOW)
            .admitted
    );
    assert!(store.kept(&overflow(&Owner::tenant("loud"))).is_some());
    assert!(store.kept(&overflow(&Owner::tenant("louder"))).is_some());
    assert!(store.kept(&key("ten", "loud\u{1}a")).is_none());
}

#[test]
fn one_caller_that_invents_tenants_leaves_half_of_the_room_to_others() {
    let mut store = Store::default();
    for nth in 0..CALLER_KEYS_MAX {
        store.invent(&by_token("k1", &format!("x{nth}"), false), 1);
    }
    let another = by_token("k1", "another", false);
    assert!(
        store
            .decide(&ask(1, "another", 10, &another, false), NOW)
            .admitted
    );
    assert!(store.kept(&overflow(&Owner::token("k1"))).is_some());
    let stranger = by_token("k2", "stranger", false);
    assert!(
        store
            .decide(&ask(2, "stranger", 10, &stranger, false), NOW)
            .admitted
    );
    assert!(store.kept(&key("ten", "stranger")).is_some());
    // No caller invents whom the policy names.
    let named = by_token("k1", "acme", true);
    assert!(
        store
            .decide(&ask(3, "acme\u{1}k", 10, &named, false), NOW)
            .admitted
    );
    assert!(store.kept(&key("ten", "acme\u{1}k")).is_some());
}

#[test]
fn whoever_is_named_has_room_where_invented_names_have_filled_the_shard() {
    let place = |room: &Room, only, account: &Account| {
        let wanted = key("ten", "wanted");
        room.place(wanted.clone(), only, account) == wanted
    };
    let named = by_token("k1", "acme", true);
    let stranger = by_token("k1", "stranger", false);
    let full = |rows: usize| {
        let size = Size {
            rows: rows as u64,
            bytes: 0,
        };
        Room::counted(Bounds::SHARD, size, [])
    };
    let rooms = [
        (LIMIT_KEYS_MAX - 1, [true, true, true]),
        (LIMIT_KEYS_MAX, [false, true, true]),
        (LIMIT_KEYS_MAX + NAMED_KEYS_MAX, [false, false, true]),
        (
            LIMIT_KEYS_MAX + NAMED_KEYS_MAX + KNOWN_KEYS_MAX,
            [false, false, false],
        ),
    ];
    for (rows, expected) in rooms {
        let room = full(rows);
        let has = [
            place(&room, false, &stranger),
            place(&room, false, &named),
            place(&room, true, &named),
        ];
        assert_eq!(has, expected, "{rows} rows");
    }
    // What a named tenant invents itself does not cost it its own key.
    let own = Size {
        rows: TENANT_KEYS_MAX as u64,
        bytes: 0,
    };
    let room = Room::counted(Bounds::SHARD, own, [(Owner::tenant("acme"), own)]);
    assert!(place(&room, true, &named) && !place(&room, false, &named));
}

#[test]
fn what_is_charged_to_an_overflow_is_given_back_settled_and_undone_there() {
    let mut store = Store::default();
    let loud = by_token("k1", "loud", false);
    store.invent(&loud, TENANT_KEYS_MAX);
    let left = |store: &mut Store| store.left("ten", &overflow(&Owner::tenant("loud")).key, NOW);
    let charged = store.decide(&ask(1, "loud\u{1}a", 6, &loud, false), NOW);
    let receipt = charged.groups[0][0].receipt.clone().unwrap();
    assert_eq!(receipt.kept.as_deref(), Some("\u{1}t:loud"));
    assert_eq!(left(&mut store), 4);
    // A key that has come to be under its own name since is not given what was never charged to it.
    let others = by_token("k2", "other", false);
    let own = ask(2, "loud\u{1}a", 3, &others, false);
    assert!(store.decide(&own, NOW).admitted);
    let back = ReturnBody {
        limit: "ten".to_owned(),
        key: "loud\u{1}a".to_owned(),
        units: 2,
        receipt: receipt.clone(),
    };
    let settle = SettleKeysBody {
        v: VERSION,
        op: OpId(9),
        expires_at: EpochMs(10_000_000),
        limits: vec![terms("ten")],
        returns: vec![back],
        debts: vec![DebtBody {
            limit: "ten".to_owned(),
            key: "loud\u{1}a".to_owned(),
            units: 1,
            kept: receipt.kept.clone(),
        }],
    };
    let settled = store.settle(&settle, NOW);
    assert_eq!((settled.returned[0], settled.charged[0]), (2, 1));
    assert_eq!(left(&mut store), 5, "10 - 6 + 2 - 1");
    assert_eq!(store.left("ten", "loud\u{1}a", NOW), 7);
    // Undone, before and after it was held.
    let undo = |op| FinishBody {
        v: VERSION,
        op: OpId(op),
        commit: false,
        heard: true,
    };
    assert!(
        store
            .decide(&ask(3, "loud\u{1}b", 4, &loud, false), NOW)
            .admitted
    );
    assert_eq!(left(&mut store), 1);
    store.finish(undo(3), NOW);
    assert_eq!(left(&mut store), 5);
    let held = DecideBody {
        hold: true,
        ..ask(4, "loud\u{1}b", 4, &loud, false)
    };
    assert!(store.decide(&held, NOW).admitted);
    assert_eq!(left(&mut store), 1);
    store.crash();
    assert_eq!(left(&mut store), 1);
    let late = NOW.plus(HOLD_MS);
    let of = overflow(&Owner::tenant("loud"));
    assert_eq!(store.left("ten", &of.key, late), 5, "it has lapsed");
    // Put back to its start: what was charged before is void.
    store.reset(of, late);
    let again = SettleKeysBody {
        op: OpId(10),
        debts: Vec::new(),
        expires_at: EpochMs(0),
        ..settle
    };
    assert_eq!(store.settle(&again, late).returned, [0]);
}

/// Of all the networks that one site of IPv6 has, each a client of its own by its key.
#[test]
fn a_site_of_ipv6_is_one_owner_however_many_networks_it_has() {
    let mut store = Store::default();
    let account = |network: u16| {
        let address = format!("2001:db8:1:{network:x}::1").parse().unwrap();
        let from = owner(address);
        let asking = Asking::Route {
            name: "api",
            from: Some(&from),
            vouched: false,
        };
        Account::of(asking, None, false)
    };
    for network in 0..TENANT_KEYS_MAX as u16 {
        store.invent(&account(network), 1);
    }
    let more = ask(1, "more", 4, &account(u16::MAX), false);
    assert!(store.decide(&more, NOW).admitted);
    assert!(store.kept(&key("ten", "more")).is_none());
    let shared = overflow(&Owner::address("2001:db8:1::/48"));
    assert!(store.kept(&shared).is_some());
    // Logins are counted by network, too, and kept on the same account.
    let login = address::account("2001:db8:1:2::7");
    assert_eq!(login.owner, account(0).owner);
}

/// A log of as many instants as it admits: its state grows with each.
fn long_log(op: u64, key: &str, account: &Account) -> DecideBody {
    let mut body = ask(op, key, 1, account, false);
    body.limits[0].body.algorithm = Some(Algorithm::SlidingLog);
    body.limits[0].body.limit = Some(LOGGED);
    body
}

const LOGGED: u64 = 800;

/// Of which so many take more than a key's part of the bytes.
const GROWN: u64 = 600;

/// A state that was small when it was let in, and has grown.
#[test]
fn a_state_that_outgrows_its_owners_bytes_goes_on_in_that_owners_overflow() {
    let mut store = Store::default();
    let (loud, other) = (
        by_token("k1", "loud", false),
        by_token("k2", "other", false),
    );
    let mut op = 0;
    let mut charge = |store: &mut Store, key: &str, account: &Account, times: u64| {
        let mut admitted = 0;
        for _ in 0..times {
            op += 1;
            let at = NOW.plus(397 * op);
            admitted += u64::from(store.decide(&long_log(op, key, account), at).admitted);
        }
        admitted
    };
    assert_eq!(charge(&mut store, "loud\u{1}full", &loud, LOGGED), LOGGED);
    assert_eq!(charge(&mut store, "loud\u{1}a", &loud, GROWN), GROWN);
    assert_eq!(charge(&mut store, "loud\u{1}small", &loud, 3), 3);
    assert_eq!(charge(&mut store, "other\u{1}a", &other, GROWN), GROWN);
    let before = store.kept(&key("ten", "loud\u{1}a")).cloned();
    store.fill(&loud, TENANT_STATE_BYTES_MAX);

    assert_eq!(charge(&mut store, "loud\u{1}a", &loud, 50), 50);
    assert_eq!(
        store.kept(&key("ten", "loud\u{1}a")).cloned(),
        before,
        "it grows no more"
    );
    assert!(store.kept(&overflow(&Owner::tenant("loud"))).is_some());
    assert_eq!(
        charge(&mut store, "loud\u{1}full", &loud, 5),
        0,
        "what was charged counts"
    );
    // Small states need nobody's leave, and others have theirs.
    assert_eq!(charge(&mut store, "loud\u{1}small", &loud, 3), 3);
    assert_eq!(charge(&mut store, "other\u{1}a", &other, 100), 100);
    assert!(store.kept(&overflow(&Owner::tenant("other"))).is_none());
    // All that outgrew its owner's bytes shares one state.
    assert_eq!(charge(&mut store, "loud\u{1}a", &loud, LOGGED), LOGGED - 50);
    // With room again it goes on where it was.
    store.clear(&loud, TENANT_STATE_BYTES_MAX);
    assert_eq!(
        charge(&mut store, "loud\u{1}a", &loud, LOGGED),
        LOGGED - GROWN
    );
}

/// Tenants whose names a route takes from its clients, of whom one has rules of its own.
#[test]
fn tenants_of_different_rules_share_no_overflow() {
    let mut store = Store::default();
    let at_route = Account {
        owner: None,
        caller: Some(Owner::route("api")),
        named: false,
        only: false,
    };
    store.invent(&at_route, CALLER_KEYS_MAX);
    let asked = |op: u64, tenant: &str, own: Option<u64>| {
        let mut body = ask(op, tenant, 4, &at_route, false);
        if let Some(limit) = own {
            body.limits[0].body.limit = Some(limit);
            body.limits[0].key = Some(tenant.to_owned());
        }
        body
    };
    // 10 in each hour, and 100.
    assert!(store.decide(&asked(1, "a", None), NOW).admitted);
    let large = store.decide(&asked(2, "large", Some(100)), NOW);
    assert_eq!(
        large.groups[0][0].decision.remaining, 96,
        "of its own rules"
    );
    assert!(store.decide(&asked(3, "b", None), NOW).admitted);
    assert!(
        !store.decide(&asked(4, "c", None), NOW).admitted,
        "8 of 10 are used"
    );
    let alike = store.decide(&asked(5, "alike", Some(100)), NOW);
    assert_eq!(
        alike.groups[0][0].decision.remaining, 92,
        "alike rules share one"
    );
    // It is given back where it was charged.
    let receipt = large.groups[0][0].receipt.clone().unwrap();
    let back = ReturnBody {
        limit: "ten".to_owned(),
        key: "large".to_owned(),
        units: 4,
        receipt,
    };
    let mut returning = asked(6, "large", Some(100));
    returning.returns = vec![back];
    let returned = store.decide(&returning, NOW);
    assert_eq!(returned.groups[0][0].decision.remaining, 92);
}

/// Questions that several shards decide are held until they are committed.
#[test]
fn held_questions_of_one_owner_leave_room_for_those_of_others() {
    let mut store = Store::default();
    let loud = by_token("k1", "loud", false);
    let held = |op: u64, name: &str, account: &Account| DecideBody {
        hold: true,
        ..ask(op, name, 1, account, false)
    };
    let taken = (0..HOLDS_MAX as u64)
        .filter(|op| {
            store
                .decide(&held(*op, &format!("loud\u{1}{op}"), &loud), NOW)
                .taken
        })
        .count();
    assert_eq!(taken, HOLDS_MAX / 2, "where nobody else asks");
    store.crash();
    for (op, tenant) in ["a", "b", "c"].iter().enumerate() {
        let account = by_token("k2", tenant, false);
        let body = held((HOLDS_MAX + op) as u64, tenant, &account);
        assert!(store.decide(&body, NOW).taken, "{tenant}");
    }
    let more = held(u64::MAX, "loud\u{1}more", &loud);
    assert!(!store.decide(&more, NOW).taken, "a life later, too");
    assert!(
        store.decide(&more, NOW.plus(HOLD_MS)).taken,
        "they have lapsed"
    );
}

fn accounts() -> impl Strategy<Value = (Account, bool)> {
    (0..6_u8, 0..30_u8, any::<bool>()).prop_map(|(token, tenant, only)| {
        let named = tenant < 3;
        let account = by_token(&format!("k{token}"), &format!("t{tenant}"), named);
        (account, only && named)
    })
}

const SMALL: Bounds = {
    const fn rows(rows: u64) -> Size {
        Size {
            rows,
            bytes: u64::MAX / 8,
        }
    }
    Bounds {
        owner: rows(5),
        caller: rows(25),
        all: rows(50),
        named: rows(10),
        only: rows(10),
    }
};

proptest! {
    /// Nobody has more than its part, the table no more than its bounds, and who has not used its part up and finds room
    /// keeps its key.
    #[test]
    fn no_owner_has_more_than_its_part(asked in prop::collection::vec(accounts(), 1..400)) {
        let mut room = Room::counted(SMALL, Size::default(), []);
        for (nth, (account, only)) in asked.iter().enumerate() {
            let wanted = key("ten", &nth.to_string());
            let below = |owner: &Option<Owner>, bound: Size| {
                owner.as_ref().is_none_or(|owner| room.of(owner).is_below(bound))
            };
            let fits = below(&account.owner, SMALL.owner) && below(&account.caller, SMALL.caller);
            let place = room.place(wanted.clone(), *only, account);
            if room.all().is_below(SMALL.all) {
                prop_assert_eq!(place == wanted, fits || *only);
            }
            if place == wanted {
                room.took(account, 100);
            } else {
                let own = account.owners().any(|owner| place.key == overflow_key(Some(owner)));
                prop_assert!(own, "{:?} of {:?}", place, account);
            }
            for owner in account.owners() {
                let mut bound = if account.owner.as_ref() == Some(owner) { 5 } else { 25 };
                if account.named {
                    bound += 70;
                }
                prop_assert!(room.of(owner).rows <= bound);
            }
            prop_assert!(room.all().rows <= 70);
        }
    }
}
