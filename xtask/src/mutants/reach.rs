//! Which tests reach which mutants, and how long they take: each runs once by itself, with no mutant on.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::limited::{self, Ended};
use super::{Id, programs, switch};
use crate::clock::Stopwatch;
use crate::progress;

/// A test that takes longer judges no mutant: the simulators and the model checker, most of all.
pub(super) const TEST_MAX: Duration = Duration::from_secs(5);

/// A test, with no mutant on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) program: PathBuf,
    pub(super) name: String,
    pub(super) takes: Duration,
    /// Whether it ends within [`TEST_MAX`].
    pub(super) is_short: bool,
    /// What it reaches; what it reached until it was stopped.
    pub(super) reached: BTreeSet<Id>,
}

/// Runs all tests of these programs. Fails if one of them does.
pub(super) fn traced(programs: &[PathBuf]) -> Result<Vec<Test>> {
    let mut named = Vec::new();
    for program in programs {
        let names = programs::tests(program)?;
        named.extend(names.into_iter().map(|name| (program.as_path(), name)));
    }
    let folder = tempfile::tempdir().context("making a folder for what is reached")?;
    let tests = in_parallel(&named, |index, (program, name)| {
        let file = folder.path().join(index.to_string());
        traced_one(program, name, &file)
    })?;
    if tests.iter().all(|test| test.reached.is_empty()) {
        bail!("the tests reach no mutant: the switch is not read");
    }
    let long = tests.iter().filter(|test| !test.is_short).count();
    let takes: Duration = tests.iter().map(|test| test.takes).sum();
    progress::note(&format!(
        "{} tests of {} s together, {long} of them stopped after {} s",
        tests.len(),
        takes.as_secs(),
        TEST_MAX.as_secs()
    ));
    Ok(tests)
}

fn traced_one(program: &Path, name: &str, file: &Path) -> Result<Test> {
    let variable = file.to_str().context("a path that is no text")?;
    let watch = Stopwatch::start();
    let ended = limited::run(program, &[name], &[(switch::REACHED, variable)], TEST_MAX)?;
    let takes = watch.elapsed().0;
    if ended == Ended::Failed && limited::run(program, &[name], &[], TEST_MAX * 5)? == Ended::Failed
    {
        bail!("{name} fails with no mutant on");
    }
    let bytes = fs::read(file).unwrap_or_default();
    Ok(Test {
        program: program.to_owned(),
        name: name.to_owned(),
        takes,
        is_short: ended != Ended::TooLong,
        reached: switch::reached(&bytes).into_iter().collect(),
    })
}

/// Does this for each, as many at a time as there are cores, and returns what comes of it in the same order.
pub(super) fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    of: impl Fn(usize, &T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = Mutex::new(0);
    let take = || {
        let mut next = next.lock().ok()?;
        let index = *next;
        *next += 1;
        Some((index, items.get(index)?))
    };
    let worker = || -> Result<Vec<(usize, R)>> {
        let mut done = Vec::new();
        while let Some((index, item)) = take() {
            done.push((index, of(index, item)?));
        }
        Ok(done)
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let done: Result<Vec<Vec<(usize, R)>>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .map(|ended| ended.unwrap_or_else(|_| bail!("a thread panicked")))
            .collect()
    });
    let mut done: Vec<(usize, R)> = done?.into_iter().flatten().collect();
    done.sort_by_key(|(index, _)| *index);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_done_in_parallel_keeps_its_order() {
        let items: Vec<usize> = (0..100).collect();
        let double = |index: usize, item: &usize| Ok((index, item * 2));
        let done = in_parallel(&items, double).unwrap();
        assert_eq!(done, Vec::from_iter((0..100).map(|item| (item, item * 2))));
        let refused = |_: usize, item: &usize| if *item == 7 { bail!("no") } else { Ok(()) };
        assert!(in_parallel(&items, refused).is_err());
    }
}
