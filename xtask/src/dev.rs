//! `dev`: Weir on this machine, on the real runtime.

mod changes;
mod group;
mod health;
mod serving;
mod traffic;
mod variables;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::changes::Changes;
use self::group::Group;
use self::serving::Serving;
use crate::args::{DevOptions, Selection};
use crate::clock::Stopwatch;
use crate::environment::Environment;
use crate::{build, paths, progress, setup};

const POLL: Duration = Duration::from_millis(100);

/// Polls between two looks at the sources: a second.
const LOOK_POLLS: u32 = 10;

/// The first start builds nothing, but a busy machine may take its time.
const START_SECONDS_MAX: u64 = 120;

/// Sets up, builds, starts and waits for the end.
pub(crate) fn run(options: DevOptions) -> Result<ExitCode> {
    check_port(options.port)?;
    let environment = setup::for_wrangler()?;
    // Before the build: what is edited during it is built again.
    let changes = Changes::new(build::sources_print()?);
    build::build(Selection::BOTH, &environment)?;
    if options.demo {
        traffic::build(&environment)?;
    }
    let variables = paths::root().join(".dev.vars");
    let token = variables::ensure(&variables)?;
    let serving = Serving::new(paths::root(), paths::local("serve"));
    serving.publish()?;
    let settings = serving.settings()?;
    let url = format!("http://{}:{}", Ipv4Addr::LOCALHOST, options.port);
    let stop = on_stop_signal()?;
    let mut command = wrangler(&environment, &settings, &variables, options.port)?;
    let mut wrangler = Group::spawn("wrangler", &mut command)?;
    if !wait_until_ready(&mut wrangler, options.port, &stop)? {
        return Ok(ExitCode::SUCCESS);
    }
    announce(&url, &token);
    let demo = options
        .demo
        .then(|| traffic::start(&environment, &url, &token))
        .transpose()?;
    let session = Session {
        environment: &environment,
        serving,
        changes,
        demo,
        building: None,
        wrangler,
    };
    session.watch(&stop)
}

/// Fails before the builds rather than after them.
fn check_port(port: u16) -> Result<()> {
    if let Err(error) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        bail!("port {port} cannot be used ({error}): choose another one with --port N");
    }
    Ok(())
}

/// Set by Ctrl-C, a request to terminate, or a closed terminal.
fn on_stop_signal() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || seen.store(true, Ordering::Relaxed))
        .context("watching for Ctrl-C")?;
    Ok(stop)
}

fn wrangler(
    environment: &Environment,
    settings: &Path,
    variables: &Path,
    port: u16,
) -> Result<std::process::Command> {
    let mut wrangler = crate::wrangler::command(environment)?;
    wrangler.arg("dev").arg("--config").arg(settings);
    wrangler.arg("--env-file").arg(variables);
    // This machine has one host, for the console and for the routes of a policy.
    wrangler.args(["--var", "WEIR_ALLOW_SHARED_HOST:1"]);
    wrangler.args(["--local", "--ip", "127.0.0.1", "--port"]);
    wrangler.arg(port.to_string());
    wrangler.arg("--persist-to").arg(paths::local("state"));
    wrangler.arg("--show-interactive-dev-session=false");
    // A line for each request would bury the address and the token.
    wrangler.args(["--log-level", "warn"]);
    wrangler.env("WRANGLER_HIDE_BANNER", "true");
    Ok(wrangler)
}

/// False when the user stopped it meanwhile.
fn wait_until_ready(wrangler: &mut Group, port: u16, stop: &AtomicBool) -> Result<bool> {
    let watch = Stopwatch::start();
    progress::note("starting the Worker ...");
    while !health::answers(port) {
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        if let Some(status) = wrangler.exited()? {
            bail!("wrangler ended before Weir was ready ({status})");
        }
        if watch.elapsed().0.as_secs() > START_SECONDS_MAX {
            bail!("Weir did not answer /healthz within {START_SECONDS_MAX} s");
        }
        thread::sleep(POLL);
    }
    Ok(true)
}

fn announce(url: &str, token: &str) {
    println!();
    println!("  Weir runs at {url}");
    println!();
    println!("    console      {url}/console/");
    println!("    admin token  {token}");
    println!("    stop         Ctrl-C");
    println!();
}

/// What runs until the end.
struct Session<'a> {
    environment: &'a Environment,
    serving: Serving,
    changes: Changes,
    // Fields are dropped in this order: the traffic ends before its server does.
    demo: Option<Group>,
    building: Option<Group>,
    wrangler: Group,
}

impl Session<'_> {
    /// Returns when the user stops it or the server ends.
    fn watch(mut self, stop: &AtomicBool) -> Result<ExitCode> {
        for poll in 1u32.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            if let Some(status) = self.wrangler.exited()? {
                bail!("wrangler ended ({status})");
            }
            self.watch_demo()?;
            self.watch_build(poll.is_multiple_of(LOOK_POLLS))?;
            thread::sleep(POLL);
        }
        progress::note("stopping");
        Ok(ExitCode::SUCCESS)
    }

    fn watch_demo(&mut self) -> Result<()> {
        if let Some(running) = &mut self.demo
            && let Some(status) = running.exited()?
        {
            progress::note(&format!("the demo traffic ended ({status}); Weir goes on"));
            self.demo = None;
        }
        Ok(())
    }

    /// Builds what has changed, one build at a time. What was built before is served meanwhile, and further on where
    /// the build fails.
    fn watch_build(&mut self, look: bool) -> Result<()> {
        if let Some(running) = &mut self.building {
            if let Some(status) = running.exited()? {
                self.building = None;
                self.built(status.success())?;
            }
        } else if look && self.changes.look(build::sources_print()?) {
            let mut cargo = self.environment.command("cargo")?;
            cargo.args(["xtask", "build"]);
            self.building = Some(Group::spawn("the build", &mut cargo)?);
        }
        Ok(())
    }

    fn built(&self, well: bool) -> Result<()> {
        if !well {
            progress::note("the build failed; what was built before is served further on");
        } else if self.serving.publish()? {
            progress::note("the Worker is started again with what was built");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_told_in_one_line() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let message = check_port(port).unwrap_err().to_string();
        assert!(message.contains(&port.to_string()), "{message}");
        assert!(message.contains("--port"), "{message}");
        assert_eq!(message.lines().count(), 1);
        drop(taken);
        assert!(check_port(port).is_ok());
    }
}
