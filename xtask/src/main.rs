//! The commands of the README: set up, build, run, test and measure Weir.
//!
//! Every command does the set-up it needs first; each part of it returns at once when there is nothing to do.

mod apt;
mod args;
mod bench;
mod book;
mod browser;
mod build;
mod build_cache;
mod bun;
mod cached;
mod clock;
mod cluster;
#[cfg(test)]
mod containers;
mod crates;
mod dev;
#[cfg(test)]
mod documented;
mod environment;
mod fuzz;
mod go;
mod markdown;
mod mutants;
mod node;
mod package;
mod paths;
mod previous;
mod process;
mod processor;
mod progress;
mod python;
mod repository;
mod rust;
mod servers;
#[cfg(test)]
mod settings;
mod setup;
mod stamp;
mod test;
mod tidy;
mod tools;
mod upgrade;
mod vectors;
mod wrangler;

use std::process::ExitCode;

use args::Command;

fn main() -> ExitCode {
    match args::parse(std::env::args_os().skip(1)).and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Help => print!("{}", args::USAGE),
        Command::Nothing => {}
        Command::Setup => drop(setup::everything()?),
        Command::Env => print!("{}", setup::everything()?.exports()),
        Command::Build(selection) => build::run(selection)?,
        Command::Dev(options) => return dev::run(options),
        Command::Bench { only, from } => return bench::run(only, from.as_deref()),
        Command::Test(scope) => return test::run(scope),
        Command::Fuzz(options) => return fuzz::run(&options),
        Command::Mutants(options) => return mutants::run(&options),
        Command::Book => book::run()?,
        Command::BookCheck => return book::check(),
        Command::BookPages => book::preprocess()?,
        Command::Package => package::run()?,
        Command::Cluster { workerd } => return cluster::run(workerd.as_deref()),
        Command::Upgrade { from } => return upgrade::run(from.as_deref()),
        Command::Vectors { folder } => return vectors::run(&folder),
    }
    Ok(ExitCode::SUCCESS)
}
