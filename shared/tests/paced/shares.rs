//! How much of a window the paced rule uses, and how hungry tenants share it, on a clock that the test steps.

use super::world::{Budget, Habit, claim, light_and_hungry, one, paced, pinned, used};

#[test]
fn light_tenants_strand_at_most_one_request_each() {
    println!("| N | L | cost | requests of a light one | paced | promised | pinned |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (n, limit, cost, asks) in [
        (2, 1_000, 1, 1),
        (2, 1_000, 25, 1),
        (2, 1_000, 30, 1),
        (5, 1_000, 1, 1),
        (5, 1_000, 1, 4),
        (10, 1_000, 1, 1),
        (10, 18_000, 100, 1),
        (10, 18_000, 100, 6),
        (50, 1_000, 1, 1),
        (50, 9_800, 10, 1),
        (100, 1_980, 1, 1),
        (100, 10_000, 1, 1),
        (100, 10_000, 1, 8),
    ] {
        let budget = Budget {
            limit,
            window_ms: 1_000,
        };
        let habits = light_and_hungry(n - 1, cost, asks, budget.window_ms);
        let (mut rule, mut control) = (paced(), pinned());
        for window in 0..3 {
            rule.roll();
            control.roll();
            let denied = budget.window(&mut rule, &habits);
            budget.window(&mut control, &habits);
            let light = denied.split_last().unwrap().1;
            assert!(light.iter().all(|denied| *denied == 0), "window {window}");
            let left = limit - rule.used_total();
            // Less than one request of the hungry one cannot be used by anyone.
            let crumbs = limit % cost;
            assert!(
                left <= (n - 1) * cost + crumbs,
                "window {window}: {left} left"
            );
            if limit >= 20 * (n - 1) * cost {
                assert!((rule.used_total() + crumbs) * 100 >= limit * 95);
            }
        }
        let share = |used: u64| used as f64 / limit as f64;
        println!(
            "| {n} | {limit} | {cost} | {asks} | {:.3} | {:.3} | {:.3} |",
            share(rule.used_total()),
            1.0 - share((n - 1) * cost + limit % cost),
            share(control.used_total())
        );
        let claimed = limit.div_ceil(n) + cost + (n - 1) * cost * asks;
        assert!(
            control.used_total() <= claimed,
            "the control strands every unused guarantee"
        );
    }
}

#[test]
fn equal_hungry_tenants_get_equal_shares_however_fast_they_ask() {
    let budget = Budget {
        limit: 1_000,
        window_ms: 2_000,
    };
    for light in [0, 2, 8] {
        let mut habits = light_and_hungry(light, 1, 4, budget.window_ms);
        habits.pop();
        habits.push(Habit::new("fast", 1).asks(10, 1));
        habits.push(Habit::new("slow", 1).asks(1, 1));
        let mut rule = paced();
        for window in 0..4 {
            rule.roll();
            budget.window(&mut rule, &habits);
            let (fast, slow) = (rule.used("fast"), rule.used("slow"));
            println!("{light} light ones, window {window}: fast {fast}, slow {slow}");
            assert!(fast.abs_diff(slow) <= 2, "fast {fast}, slow {slow}");
            assert!(fast + slow >= 1_000 - light * 5);
        }
    }
}

#[test]
fn hungry_tenants_share_by_weight_however_fast_they_ask() {
    let budget = Budget {
        limit: 2_100,
        window_ms: 2_000,
    };
    for (light, speeds) in [
        (0, [1, 1, 1]),
        (3, [10, 3, 1]),
        (3, [1, 3, 10]),
        (6, [50, 1, 1]),
        (6, [1, 1, 50]),
    ] {
        let mut habits = light_and_hungry(light, 1, 4, budget.window_ms);
        habits.pop();
        for (weight, speed) in [1, 2, 4].into_iter().zip(speeds) {
            habits.push(Habit::new(format!("w{weight}"), weight).asks(speed, 1));
        }
        let mut rule = paced();
        for window in 0..3 {
            rule.roll();
            budget.window(&mut rule, &habits);
            let got = [1, 2, 4].map(|weight| rule.used(&format!("w{weight}")));
            println!("speeds {speeds:?}, {light} light ones, window {window}: {got:?}");
            let sum: u64 = got.iter().sum();
            for (weight, got) in [1, 2, 4].into_iter().zip(got) {
                let ideal = sum * weight / 7;
                assert!(got.abs_diff(ideal) <= 3, "{got} of {ideal}");
            }
        }
    }
}

#[test]
fn late_heavy_tenants_find_their_share_after_an_early_flood() {
    println!("| window | late by | first window | from the second on |");
    println!("| --- | --- | --- | --- |");
    for (window_ms, late_ms) in [
        (2_000, 50),
        (2_000, 200),
        (2_000, 500),
        (2_000, 1_000),
        (10_000, 50),
        (10_000, 200),
        (10_000, 500),
        (10_000, 5_000),
    ] {
        let budget = Budget {
            limit: 700,
            window_ms,
        };
        let habits = [
            Habit::new("w1", 1).asks(5, 1),
            Habit::new("w2", 2).asks(1, 1).between(late_ms, u64::MAX),
            Habit::new("w4", 4).asks(1, 1).between(late_ms, u64::MAX),
        ];
        let mut rule = paced();
        let mut got = Vec::new();
        for window in 0..3 {
            rule.roll();
            budget.window(&mut rule, &habits);
            got = used(&rule, &habits);
            if window == 0 {
                print!("| {window_ms} ms | {late_ms} ms | {got:?}");
                continue;
            }
            for (got, ideal) in got.iter().zip([100, 200, 400]) {
                assert!(
                    got.abs_diff(ideal) * 50 <= ideal,
                    "window {window}: {got} of {ideal}"
                );
            }
        }
        println!(" | {got:?} |");
    }
}

#[test]
fn a_late_member_finds_what_an_even_pace_needs_though_nobody_expects_it() {
    for late_ms in [50, 200, 500, 1_000, 1_900] {
        let budget = Budget {
            limit: 800,
            window_ms: 2_000,
        };
        let flood = Habit::new("flood", 1).asks(50, 1);
        let heavy = Habit::new("heavy", 3).asks(10, 1);
        let seen = heavy.clone().between(0, 1);
        let mut rule = paced();
        budget.window(&mut rule, &[seen, flood.clone()]);
        rule.roll();
        budget.window(&mut rule, &[flood, heavy.between(late_ms, u64::MAX)]);
        let even = 600 * (2_000 - late_ms) / 2_000;
        assert!(
            rule.used("heavy") + 1 >= even,
            "{} of {even}",
            rule.used("heavy")
        );
    }
}

#[test]
fn costs_above_the_guarantee_do_not_starve() {
    let budget = Budget {
        limit: 30_000,
        window_ms: 1_000,
    };
    let habits: Vec<Habit> = (0..10)
        .map(|i| Habit::new(format!("t{i}"), 1).cost(8_000).asks(1, 10))
        .collect();
    let (mut rule, mut control) = (paced(), pinned());
    for window in 0..3 {
        rule.roll();
        control.roll();
        budget.window(&mut rule, &habits);
        budget.window(&mut control, &habits);
        assert_eq!(rule.used_total(), 24_000, "window {window}");
    }
    println!(
        "ten tenants, 30,000 units, cost 8,000: paced 24000, pinned {}",
        control.used_total()
    );
    assert_eq!(control.used_total(), 0, "the control starves");
}

#[test]
fn a_hungry_tenant_that_stops_asking_is_released() {
    let budget = Budget {
        limit: 1_000,
        window_ms: 4_000,
    };
    let stays = Habit::new("stays", 1).asks(5, 1);
    let stops = Habit::new("stops", 1).asks(5, 1);
    let mut rule = paced();
    budget.window(&mut rule, &[stays.clone(), stops.clone()]);
    assert_eq!(rule.used("stops"), 500);
    // It asks for a twentieth of the window and goes: what it did not use is used by the other.
    rule.roll();
    budget.window(
        &mut rule,
        &[stays.clone(), stops.clone().asks(1, 2).between(0, 200)],
    );
    assert_eq!(rule.used("stops"), 100);
    assert!(rule.used("stays") >= 899, "{}", rule.used("stays"));
    // It does not come at all.
    rule.roll();
    budget.window(&mut rule, std::slice::from_ref(&stays));
    assert!(rule.used("stays") >= 999);
}

#[test]
fn what_hungry_tenants_do_not_want_goes_to_the_others_before_the_window_ends() {
    let budget = Budget {
        limit: 900,
        window_ms: 4_000,
    };
    let habits = [
        Habit::new("greedy", 1).asks(20, 1),
        Habit::new("modest", 1).asks(1, 10),
        Habit::new("wanting", 1).asks(1, 5),
    ];
    let mut rule = paced();
    for _ in 0..3 {
        rule.roll();
        budget.window(&mut rule, &habits);
        // Max-min of the demands 80,000, 400 and 800 is 300 each.
        for got in used(&rule, &habits) {
            assert!(got.abs_diff(300) <= 2, "{got}");
        }
    }
    // Of 100, 800 and any number it is 100, 400 and 400.
    let modest = Habit::new("modest", 1).asks(1, 40);
    let habits = [habits[0].clone(), modest, habits[2].clone()];
    for _ in 0..3 {
        rule.roll();
        budget.window(&mut rule, &habits);
    }
    let got = used(&rule, &habits);
    assert_eq!(got[1], 100);
    assert!(
        got[0].abs_diff(400) <= 2 && got[2].abs_diff(400) <= 2,
        "{got:?}"
    );
}

#[test]
fn members_that_stay_away_for_two_windows_are_dropped() {
    let budget = Budget {
        limit: 10_000,
        window_ms: 1_000,
    };
    let mut rule = paced();
    for i in 0..500 {
        budget.ask(&mut rule, &Habit::new(format!("t{i}"), 1), 0);
    }
    let stays = Habit::new("t0", 1);
    for expected in [500, 500, 500, 1] {
        assert_eq!(rule.members(), expected);
        budget.ask(&mut rule, &stays, 10);
        rule.roll();
    }
    budget.ask(&mut rule, &stays, 0);
    let at = budget.at(rule.used_total(), 0);
    assert_eq!(rule.rows(&at).len(), 1);
    assert_eq!(rule.rows(&at)[0].guarantee, 10_000);
}

#[test]
fn who_joins_later_has_a_claim_to_what_is_not_reserved_and_to_no_more() {
    let budget = Budget {
        limit: 100,
        window_ms: 1_000,
    };
    let mut rule = paced();
    let first = Habit::new("first", 1);
    for _ in 0..80 {
        assert!(budget.ask(&mut rule, &first, 0));
    }
    // The second is guaranteed 50, and finds 20.
    let second = Habit::new("second", 1);
    for _ in 0..20 {
        assert!(budget.ask(&mut rule, &second, 0));
    }
    assert!(!budget.ask(&mut rule, &second, 0));
    // In the next window it finds its 50 whatever the first does.
    rule.roll();
    for _ in 0..100 {
        budget.ask(&mut rule, &first, 0);
    }
    assert_eq!(rule.used("first"), 50);
    for _ in 0..100 {
        budget.ask(&mut rule, &second, 0);
    }
    assert_eq!(rule.used("second"), 50);
}

#[test]
fn a_denial_says_when_the_same_request_would_be_admitted() {
    let budget = Budget {
        limit: 1_000,
        window_ms: 10_000,
    };
    let mut rule = paced();
    let light = Habit::new("light", 1);
    let hungry = Habit::new("hungry", 1);
    budget.ask(&mut rule, &light, 0);
    while budget.ask(&mut rule, &hungry, 0) {}
    let mut now_ms = 0;
    let mut denials = 0;
    while now_ms < budget.window_ms - 1 {
        let at = budget.at(rule.used_total(), now_ms);
        let room = rule.room("hungry", &claim(1), &one(1), &at);
        rule.charge("hungry", room.waiting);
        if room.waiting == 0 {
            denials += 1;
            let Some(retry_ms) = room.retry_ms else { break };
            assert!((1..=at.left_ms).contains(&retry_ms));
            now_ms = (now_ms + retry_ms).min(budget.window_ms - 1);
        }
    }
    // One that asks when it is told gets all but one request, with about one denial for each unit that is released.
    assert!(rule.used_total() >= 998, "{}", rule.used_total());
    assert!(denials <= 600, "{denials}");
}

#[test]
fn one_that_asks_again_when_it_is_told_gets_as_much_as_one_that_always_asks() {
    let budget = Budget {
        limit: 2_000,
        window_ms: 10_000,
    };
    for cost in [1, 20, 100, 150] {
        let mut habits = light_and_hungry(8, 1, 4, budget.window_ms);
        habits.pop();
        habits.push(Habit::new("rude", 1).cost(cost).asks(5, 1));
        let mut rule = paced();
        for window in 0..2 {
            rule.roll();
            let (mut told_ms, mut asks) = (0, 0);
            for now_ms in 0..budget.window_ms {
                budget.step(&mut rule, &habits, now_ms);
                while now_ms >= told_ms {
                    let at = budget.at(rule.used_total(), now_ms);
                    let room = rule.room("polite", &claim(1), &one(cost), &at);
                    rule.charge("polite", room.waiting);
                    asks += 1;
                    if room.waiting == 0 {
                        told_ms = now_ms + room.retry_ms.unwrap_or(budget.window_ms);
                    }
                }
            }
            let (polite, rude) = (rule.used("polite"), rule.used("rude"));
            println!(
                "cost {cost}, window {window}: polite {polite} with {asks} questions, rude {rude}"
            );
            assert!(
                polite.abs_diff(rude) <= 20 + cost,
                "polite {polite}, rude {rude}"
            );
        }
    }
}
