//! What is said of a sample: how many are caught, by room, and what survives.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Id;
use super::judge::Verdict;
use super::list::Mutant;
use super::reach::TEST_MAX;
use super::viable::Viable;

/// What came of a sample.
#[derive(Debug, Default)]
pub(super) struct Report {
    rooms: BTreeMap<String, Count>,
    unviable: usize,
    not_tried: Vec<String>,
    survivors: Vec<(String, Verdict)>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Count {
    caught: usize,
    tried: usize,
}

impl Report {
    pub(super) fn new(mutants: &[Mutant], viable: &Viable, verdicts: Vec<(Id, Verdict)>) -> Self {
        // Numbers are from 1.
        let of = |id: Id| &mutants[id as usize - 1];
        let name = |id: Id| of(id).name.clone();
        let mut report = Self {
            unviable: viable.unviable.len(),
            not_tried: viable.not_tried.iter().copied().map(name).collect(),
            ..Self::default()
        };
        for (id, verdict) in verdicts {
            let room = report.rooms.entry(of(id).room().to_owned()).or_default();
            room.tried += 1;
            match verdict {
                Verdict::Caught => room.caught += 1,
                _ => report.survivors.push((name(id), verdict)),
            }
        }
        report.survivors.sort_by(|one, other| one.0.cmp(&other.0));
        report.not_tried.sort();
        report
    }

    /// As a person reads it.
    pub(super) fn text(&self, seed: u64) -> String {
        let mut all = Count::default();
        for room in self.rooms.values() {
            all.caught += room.caught;
            all.tried += room.tried;
        }
        let mut text = format!(
            "seed {seed}: {} of {} mutants caught ({} more do not compile; {} not tried)\n",
            all.caught,
            all.tried,
            self.unviable,
            self.not_tried.len()
        );
        for (name, room) in &self.rooms {
            let _ = writeln!(text, "{name:<12} {:>4} of {:>4}", room.caught, room.tried);
        }
        for (name, verdict) in &self.survivors {
            let _ = writeln!(text, "survives: {name}{}", because(*verdict));
        }
        for name in &self.not_tried {
            let _ = writeln!(text, "not tried: {name}");
        }
        text
    }
}

fn because(verdict: Verdict) -> String {
    match verdict {
        Verdict::Caught | Verdict::Survived => String::new(),
        Verdict::SurvivedBudget => " (some tests that reach it did not run)".to_owned(),
        Verdict::ReachedByLong => {
            let seconds = TEST_MAX.as_secs();
            format!(" (only tests longer than {seconds} s reach it)")
        }
        Verdict::NotReached => " (no test reaches it)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::list::Genre;
    use super::super::list::tests::mutant_of;
    use super::*;

    #[test]
    fn what_is_caught_is_counted_and_what_survives_is_named() {
        let one = mutant_of("f", Genre::Return, "f", "true");
        let named = |file: &str| Mutant {
            name: format!("shared/{file}:1:1: replace f"),
            file: format!("shared/{file}"),
            ..one.clone()
        };
        let mutants = [
            "node/src/a.rs",
            "node/src/b.rs",
            "access/src/c.rs",
            "access/src/d.rs",
            "node/src/e.rs",
        ]
        .map(named);
        let viable = Viable {
            tried: vec![1, 2, 3],
            unviable: vec![4],
            not_tried: vec![5],
        };
        let verdicts = [
            (1, Verdict::Caught),
            (2, Verdict::NotReached),
            (3, Verdict::Caught),
        ];
        let text = Report::new(&mutants, &viable, verdicts.to_vec()).text(7);
        let due = "seed 7: 2 of 3 mutants caught (1 more do not compile; 1 not tried)\n\
                   access          1 of    1\n\
                   node            1 of    2\n\
                   survives: shared/node/src/b.rs:1:1: replace f (no test reaches it)\n\
                   not tried: shared/node/src/e.rs:1:1: replace f\n";
        assert_eq!(text, due);
    }
}
