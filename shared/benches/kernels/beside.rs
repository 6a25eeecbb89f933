//! GCRA beside the `governor` crate, in one process and in turns.

mod clock;
mod many_keys;
mod one_key;

use super::turns::{Spread, in_turns};

/// One way to do the same.
struct Contender {
    name: &'static str,
    run: Box<dyn FnMut(u64)>,
}

/// Ways to do the same, the first two of which are compared.
struct Scenario {
    name: &'static str,
    /// Checks of one turn.
    checks: u64,
    contenders: Vec<Contender>,
}

impl Contender {
    /// A way to run so many checks.
    fn new(name: &'static str, run: impl FnMut(u64) + 'static) -> Self {
        let run = Box::new(run);
        Self { name, run }
    }
}

impl Scenario {
    fn row(&mut self, turns: usize) -> String {
        eprintln!("beside governor: {}", self.name);
        let taken = in_turns(
            self.contenders.len(),
            turns,
            self.checks,
            |index, checks| {
                (self.contenders[index].run)(checks);
            },
        );
        let cells = self
            .contenders
            .iter()
            .zip(&taken)
            .map(|(contender, taken)| {
                let ns = Spread::of(taken.iter().copied());
                format!("{}: {ns}", contender.name)
            });
        let ratios = taken[0]
            .iter()
            .zip(&taken[1])
            .map(|(weir, other)| weir / other);
        let ratio = Spread::of(ratios);
        format!(
            "| {} | {} | {ratio} |",
            self.name,
            cells.collect::<Vec<_>>().join("; ")
        )
    }
}

/// Prints the table.
pub fn print(turns: usize) {
    println!(
        "GCRA and `governor` in turns, states of many keys in the same kind of map (`DashMap`):\n"
    );
    println!("| keys | ns a check | Weir / governor |");
    println!("| --- | --- | --- |");
    let scenarios = one_key::scenarios()
        .into_iter()
        .chain(many_keys::scenarios());
    for mut scenario in scenarios {
        println!("{}", scenario.row(turns));
    }
}
