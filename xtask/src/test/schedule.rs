//! Which step begins when: some at a time, each as soon as what it waits for has passed.

use std::sync::{Condvar, Mutex};
use std::thread;

/// How many steps run beside each other. One waits for most of its time (the tests of the built Worker), one computes on a
/// single core for minutes (the linker of a release build): with a third, two cores are busy throughout. Compilers step
/// back behind the tests, which get the machine whenever they ask for it.
const LANES: usize = 3;

/// What is known of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Running,
    Passed,
    Failed,
}

impl State {
    fn has_ended(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

/// A job of the schedule, the most urgent first in a list of them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job<T: 'static> {
    pub(super) what: T,
    /// What has to pass before; ignored where it is not in the list.
    pub(super) after: &'static [T],
    /// What has to end before, however it ends; ignored where it is not in the list.
    pub(super) behind: &'static [T],
}

/// What became of a job.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended<R> {
    /// It ran, and says whether it passed.
    Ran(R),
    /// What it waited for failed.
    Skipped,
}

/// Runs all jobs, some beside each other; `run` says what came of one, and whether those that wait for it may begin.
/// `ended` hears of each as it ends, one at a time.
pub(super) fn run<T, R>(
    jobs: &[Job<T>],
    run: impl Fn(T) -> (R, bool) + Sync,
    mut ended: impl FnMut(T, Ended<R>) + Send,
) where
    T: Copy + PartialEq + Send + Sync + 'static,
    R: Send,
{
    let states = Mutex::new(vec![State::Waiting; jobs.len()]);
    let changed = Condvar::new();
    let ended = Mutex::new(&mut ended);
    let lane = || {
        while let Some(turn) = next(jobs, &states, &changed) {
            let (index, outcome, state) = match turn {
                Turn::Run(index) => {
                    let (result, passed) = run(jobs[index].what);
                    let state = if passed { State::Passed } else { State::Failed };
                    (index, Ended::Ran(result), state)
                }
                Turn::Skip(index) => (index, Ended::Skipped, State::Failed),
            };
            lock(&ended)(jobs[index].what, outcome);
            lock(&states)[index] = state;
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(lane);
        }
    });
}

enum Turn {
    Run(usize),
    Skip(usize),
}

/// The most urgent job that may begin; waits while all that are left wait for others. `None` when there is none left.
fn next<T: Copy + PartialEq + 'static>(
    jobs: &[Job<T>],
    states: &Mutex<Vec<State>>,
    changed: &Condvar,
) -> Option<Turn> {
    let mut states = lock(states);
    loop {
        let mut waiting = false;
        for (index, job) in jobs.iter().enumerate() {
            if states[index] != State::Waiting {
                continue;
            }
            let of = |names: &'static [T]| {
                let listed = move |(other, _): &(&Job<T>, _)| names.contains(&other.what);
                let all = jobs.iter().zip(&*states);
                all.filter(listed).map(|(_, state)| *state)
            };
            if of(job.after).any(|state| state == State::Failed) {
                states[index] = State::Running;
                return Some(Turn::Skip(index));
            }
            let free = of(job.behind).all(State::has_ended);
            if free && of(job.after).all(|state| state == State::Passed) {
                states[index] = State::Running;
                return Some(Turn::Run(index));
            }
            waiting = true;
        }
        if !waiting {
            return None;
        }
        states = changed
            .wait(states)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn job(what: char, after: &'static [char]) -> Job<char> {
        Job {
            what,
            after,
            behind: &[],
        }
    }

    /// What ended, in its order: in capitals what ran.
    fn play(jobs: &[Job<char>], fails: char) -> String {
        let mut order = String::new();
        run(
            jobs,
            |what| (what, what != fails),
            |what, outcome| match outcome {
                Ended::Ran(_) => order.push(what.to_ascii_uppercase()),
                Ended::Skipped => order.push(what),
            },
        );
        order
    }

    #[test]
    fn every_job_runs_and_none_before_what_it_waits_for() {
        let order = play(
            &[job('a', &['c', 'b']), job('b', &[]), job('c', &['b'])],
            '-',
        );
        assert_eq!(order, "BCA");
    }

    #[test]
    fn what_waits_for_a_failure_is_skipped_and_the_rest_is_not() {
        let order = play(&[job('a', &[]), job('b', &['a', 'c']), job('c', &[])], 'a');
        assert!(
            order.contains('b') && order.contains('C') && order.contains('A'),
            "{order}"
        );
    }

    #[test]
    fn what_stands_behind_a_failure_runs_when_that_has_ended() {
        let last = Job {
            what: 'a',
            after: &[],
            behind: &['b'],
        };
        assert_eq!(play(&[last, job('b', &['c']), job('c', &[])], 'b'), "CBA");
    }

    #[test]
    fn what_waits_for_a_job_that_is_not_asked_for_runs() {
        assert_eq!(play(&[job('e', &['b'])], '-'), "E");
    }

    #[test]
    fn three_run_beside_each_other() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let jobs: Vec<_> = ('a'..='z').map(|what| job(what, &[])).collect();
        run(
            &jobs,
            |_| {
                let beside = running.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(beside, Ordering::SeqCst);
                thread::sleep(std::time::Duration::from_millis(20));
                running.fetch_sub(1, Ordering::SeqCst);
                ((), true)
            },
            |_, _| {},
        );
        assert_eq!(most.into_inner(), LANES);
    }
}
