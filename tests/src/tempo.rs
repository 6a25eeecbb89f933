//! How fast this machine is at present. What judges how far windows are used needs somebody who asks for all of them: where
//! the machine has no time for that many requests a second, windows are longer and requests are fewer a second.

use std::time::Duration;

use futures_util::future::join_all;

use crate::client::Client;
use crate::clock;
use crate::workload::Workload;

/// For how long it is measured.
const MEASURED: Duration = Duration::from_millis(600);

/// Loops that ask, as many as a load has.
const LOOPS: usize = 12;

/// Answers a second at which nothing is stretched: twelve times what one flood asks for. A check costs five times as much as
/// these, and most loads are two floods or three.
const ANSWERS_PER_S: f64 = 1_800.0;

/// Beyond that a test would take longer than it may.
const SLOWEST: u32 = 4;

/// By how much times are stretched, 1 to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tempo(u32);

impl Tempo {
    /// As it is now: by how many answers these servers give a second.
    pub async fn of(clients: &[Client]) -> Self {
        let begin = clock::now();
        let loops = clients.iter().cycle().take(LOOPS).map(async |client| {
            let mut answers = 0_u32;
            while begin.elapsed() < MEASURED {
                answers += u32::from(client.get("/healthz").await.is_ok());
            }
            answers
        });
        let answers: u32 = join_all(loops).await.into_iter().sum();
        let tempo = Self::by(f64::from(answers) / begin.elapsed().as_secs_f64());
        println!("{answers} answers in {:?}: {tempo:?}", begin.elapsed());
        tempo
    }

    fn by(answers_per_s: f64) -> Self {
        let factor = (ANSWERS_PER_S / answers_per_s.max(1.0)).ceil();
        Self((factor as u32).clamp(1, SLOWEST))
    }

    /// The same, but no more than `factor`: for times that Weir bounds.
    pub fn at_most(self, factor: u32) -> Self {
        Self(self.0.min(factor))
    }

    /// A time of a test, as long as it has to be here.
    pub fn stretched(self, time: Duration) -> Duration {
        time * self.0
    }

    /// A load that asks for as much a window that is stretched.
    pub fn slowed(self, load: Workload) -> Workload {
        Workload {
            pause: self.stretched(load.pause),
            ..load
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_answers_a_third_as_often_has_three_times_the_time() {
        let tempos = [9_000.0, 1_800.0, 1_799.0, 600.0, 400.0, 0.0].map(|rate| Tempo::by(rate).0);
        assert_eq!(tempos, [1, 1, 2, 3, 4, 4]);
        let second = Duration::from_secs(1);
        assert_eq!(Tempo::by(600.0).stretched(second), 3 * second);
        assert_eq!(Tempo::by(600.0).at_most(2), Tempo(2));
    }
}
