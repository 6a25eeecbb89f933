//! What an ask costs under the paced rule, in members looked at and entries moved.

use weir_shared::fairness::paced::Paced;

use super::world::{Budget, Habit, paced};

/// The asks of one window: each member once, and the first `hungry` of them again and again.
fn window(rule: &mut Paced, budget: &Budget, habits: &[Habit], hungry: usize) {
    let n = habits.len();
    for turn in 0..n {
        let now_ms = turn as u64 * (budget.window_ms - 1) / n as u64;
        budget.ask(rule, &habits[turn], now_ms);
        budget.ask(rule, &habits[turn % hungry], now_ms);
    }
}

#[test]
fn an_ask_costs_the_same_for_a_hundred_members_and_for_a_hundred_thousand() {
    println!("| members | hungry | operations a join | operations an ask |");
    println!("| --- | --- | --- | --- |");
    for (n, hungry) in [
        (100, 3),
        (100, 50),
        (10_000, 3),
        (10_000, 5_000),
        (100_000, 50_000),
    ] {
        let budget = Budget {
            limit: 4 * n as u64,
            window_ms: 60_000,
        };
        let habits: Vec<Habit> = (0..n)
            .map(|i| Habit::new(format!("t{i}"), 1 + i as u64 % 7).cost(1 + i as u64 % 3))
            .collect();
        let mut rule = paced();
        for (i, habit) in habits.iter().enumerate() {
            budget.ask(&mut rule, habit, (50_000 * i / n) as u64);
        }
        let joined = rule.operations();
        rule.roll();
        window(&mut rule, &budget, &habits, hungry);
        let a_join = joined as f64 / n as f64;
        let an_ask = (rule.operations() - joined) as f64 / (2 * n) as f64;
        println!("| {n} | {hungry} | {a_join:.1} | {an_ask:.1} |");
        assert!(a_join <= 60.0 && an_ask <= 100.0);
    }
}
