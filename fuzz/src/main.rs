//! The long run: `weir-fuzz [--executions N] [--target T] [--seed S]`. Prints what came of each target.

use std::process::ExitCode;
use std::thread;

use weir_fuzz::driver::{Outcome, Target};
use weir_fuzz::targets::{TARGETS, share};

/// Executions, unless another number is given.
const EXECUTIONS: u64 = 100_000_000;

struct Options {
    executions: u64,
    target: Option<String>,
    seed: u64,
}

fn main() -> ExitCode {
    match options() {
        Ok(options) => run(&options),
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn options() -> Result<Options, String> {
    let mut options = Options {
        executions: EXECUTIONS,
        target: None,
        seed: 1,
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next().ok_or(format!("{name} takes a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{name} takes a number, not `{value}`"))
        };
        match name.as_str() {
            "--executions" => options.executions = number()?,
            "--seed" => options.seed = number()?,
            "--target" => options.target = Some(value),
            _ => return Err(format!("{name} is not known")),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> ExitCode {
    let wanted = |target: &&Target| {
        options
            .target
            .as_deref()
            .is_none_or(|name| name == target.name)
    };
    let targets: Vec<Target> = TARGETS.iter().filter(wanted).copied().collect();
    if targets.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
        eprintln!("error: the targets are {}", names.join(", "));
        return ExitCode::FAILURE;
    }
    // A panic is counted and its input told; the trace of each would hide that.
    std::panic::set_hook(Box::new(|_| {}));
    let mut all = Outcome::default();
    for target in &targets {
        let executions = share(&targets, target, options.executions);
        let outcome = on_every_core(target, executions, options.seed);
        println!(
            "{:<8} {:>11} executions {:>11} accepted {:>3} panics",
            target.name, outcome.executions, outcome.accepted, outcome.panics
        );
        all = all.with(outcome);
    }
    println!(
        "{:<8} {:>11} executions {:>11} accepted {:>3} panics",
        "all", all.executions, all.accepted, all.panics
    );
    for found in &all.found {
        println!("{}: {}", found.at, found.input.escape_ascii());
    }
    if all.panics == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn on_every_core(target: &Target, executions: u64, seed: u64) -> Outcome {
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    thread::scope(|scope| {
        let run = |core: u64| {
            scope.spawn(move || target.run(executions.div_ceil(cores), seed * 64 + core))
        };
        let running: Vec<_> = (0..cores).map(run).collect();
        let ended = running.into_iter().filter_map(|one| one.join().ok());
        ended.fold(Outcome::default(), Outcome::with)
    })
}
