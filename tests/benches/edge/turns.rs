//! Turns: what else the machine does hits all contenders alike.

use std::time::Duration;

use anyhow::{Result, ensure};
use weir_tests::load::{Closed, Round};

use crate::contenders::{Contender, Field};

/// Connections of a turn: enough that the process never waits for a question. They are opened before each turn, as
/// workerd closes those that are idle for seconds.
const CONNECTIONS: usize = 16;

/// Before the first turn: the compilers of the runtime come to rest.
const WARM_UP: Duration = Duration::from_millis(1_500);

/// Before each turn: what lapsed while the others had theirs comes back, and so does a runtime that was idle.
const LEAD_IN: Duration = Duration::from_millis(500);

/// At most one answer in so many may be another decision: a machine that stands still for a while lets a lease run out.
const UNWANTED_ONE_IN: u64 = 1_000;

/// After two seconds of idleness a short turn costs a warm Worker a third more.
const TURN: Duration = Duration::from_secs(3);

/// All turns of one contender.
pub struct Turns {
    pub name: &'static str,
    pub decisions: usize,
    pub turns: Vec<Turn>,
}

/// One turn.
pub struct Turn {
    pub answers_per_sec: f64,
    /// Processor time of the whole process that answered, in microseconds an answer.
    pub cpu_us: f64,
    pub latencies_us: Vec<u32>,
    /// Answers, and those of them that were not the wanted decision.
    pub answers: u64,
    pub unwanted: u64,
}

/// Gives each contender so many turns, in another order each time.
pub fn run(field: &Field, rounds: usize) -> Result<Vec<Turns>> {
    for contender in &field.contenders {
        eprintln!("warming up: {}", contender.name);
        Closed::open(&contender.ask, CONNECTIONS)?.run(WARM_UP)?;
    }
    let mut all: Vec<Turns> = field.contenders.iter().map(Turns::of).collect();
    for round in 0..rounds {
        eprintln!("round {} of {rounds}", round + 1);
        for contender in order(&field.in_turn(), round) {
            let turn = turn(field, contender)?;
            all[contender].turns.push(turn);
        }
    }
    for turns in &all {
        let sum = |of: fn(&Turn) -> u64| turns.turns.iter().map(of).sum::<u64>();
        let (answers, unwanted) = (sum(|turn| turn.answers), sum(|turn| turn.unwanted));
        eprintln!("{}: {unwanted} of {answers} not as wanted", turns.name);
        ensure!(
            unwanted * UNWANTED_ONE_IN <= answers,
            "{}: {unwanted} of {answers} answers are another decision than the one to measure",
            turns.name
        );
    }
    Ok(all)
}

/// Each round begins one place later, and every second one goes backwards: nobody always follows the same one.
fn order(contenders: &[usize], round: usize) -> Vec<usize> {
    let mut order = contenders.to_vec();
    order.rotate_left(round % contenders.len());
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

fn turn(field: &Field, contender: usize) -> Result<Turn> {
    let mut load = Closed::open(&field.contenders[contender].ask, CONNECTIONS)?;
    load.run(LEAD_IN)?;
    let before = field.process(contender)?.cpu_time()?;
    let round = load.run(TURN)?;
    let cpu = field.process(contender)?.cpu_time()?.saturating_sub(before);
    Ok(Turn::of(round, cpu))
}

impl Turns {
    fn of(contender: &Contender) -> Self {
        Self {
            name: contender.name,
            decisions: contender.decisions,
            turns: Vec::new(),
        }
    }
}

impl Turn {
    fn of(round: Round, cpu: Duration) -> Self {
        let answers = round.answers as f64;
        Self {
            answers_per_sec: answers / round.elapsed.as_secs_f64(),
            cpu_us: cpu.as_secs_f64() * 1e6 / answers,
            latencies_us: round.latencies_us,
            answers: round.answers,
            unwanted: round.unwanted,
        }
    }
}
