//! The program from its start to its end.

use std::process::ExitCode;
use std::rc::Rc;

use clap::Parser;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};

use crate::agent::Agent;
use crate::contact;
use crate::deployment::Deployment;
use crate::listen::Listener;
use crate::options::Options;

/// Runs until it is told to end.
#[must_use]
pub fn main() -> ExitCode {
    match started(Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("weir-agent: {why}");
            ExitCode::FAILURE
        }
    }
}

fn started(options: Options) -> Result<(), String> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    LocalSet::new().block_on(&runtime, run(options))
}

async fn run(options: Options) -> Result<(), String> {
    let token = token(&options)?;
    let deployment = Deployment::new(&options.url, &token).map_err(|why| why.to_string())?;
    let deployment = Rc::new(deployment);
    let agent = Agent::new(options.region).map_err(|error| error.to_string())?;
    let agent = Rc::new(agent);
    let mut listeners = Vec::new();
    for listen in &options.listen {
        let listener = Listener::bind(listen).await;
        listeners.push(listener.map_err(|error| format!("{listen:?}: {error}"))?);
    }
    let (mut terminated, mut interrupted) = signals().map_err(|error| error.to_string())?;
    let contacts = spawn_local(contact::run(Rc::clone(&agent), Rc::clone(&deployment)));
    let serving: Vec<_> = listeners
        .into_iter()
        .map(|listener| {
            let agent = Rc::clone(&agent);
            spawn_local(async move { listener.serve(&agent).await })
        })
        .collect();
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    // Nobody is let in any more; what is held goes back.
    serving.iter().for_each(|task| task.abort());
    contacts.abort();
    contact::close(&agent, &deployment).await;
    Ok(())
}

fn signals() -> std::io::Result<(tokio::signal::unix::Signal, tokio::signal::unix::Signal)> {
    Ok((
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    ))
}

fn token(options: &Options) -> Result<String, String> {
    let read = match (&options.token, &options.token_file) {
        (Some(token), _) => token.clone(),
        (None, Some(file)) => {
            std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        (None, None) => String::new(),
    };
    match read.trim() {
        "" => Err("a token is needed: --token, WEIR_TOKEN or --token-file".to_owned()),
        token => Ok(token.to_owned()),
    }
}
