//! Carries out what the options say. What is told is worked out elsewhere.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::thread::sleep;
use std::time::Duration;

use clap::Parser;
use serde_json::json;
use weir_shared::replay::Replay;
use weir_shared::replay::agreement::{Agreement, Part};
use weir_shared::wire::access::TokenRequest;
use weir_shared::wire::replay::{ReplayBody, ReplayRequest};

use crate::agreement::AgreementReport;
use crate::agreement::log::{self, Log, Reading};
use crate::apply::{agreed, apply, confirm};
use crate::client::Client;
use crate::credentials::{Said, chosen, kept};
use crate::difference::reversed;
use crate::document::{STDIN, Valid, bytes, called, read};
use crate::drift::Drift;
use crate::ending::{Ending, FAILED};
use crate::failure::Failure;
use crate::import::import;
use crate::options::{Agreeing, Command, Common, Options, Replaying, Starve, TokenCommand};
use crate::output::{Output, aside, is_unread};
use crate::plan::plan;
use crate::policy::compare;
use crate::progress::{ProgressLine, played};
use crate::replay::trace;
use crate::tail::filter::Filter;
use crate::tail::tail;
use crate::top::{Look, REDRAW};
use crate::{completions, export, login, man, replay, token, validate};

/// The command, from its words to its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let options = match Options::try_parse() {
        Ok(options) => options,
        Err(error) => return mistyped(&error),
    };
    let output = Output {
        json: options.common.json,
    };
    match run(options, output) {
        Ok(ending) => ending.into(),
        Err(failure) if is_unread(&failure) => Ending::Done.into(),
        Err(failure) => {
            if output.json {
                aside(&failure.json().to_string());
            } else {
                aside(&format!("weir: {failure}"));
            }
            FAILED.into()
        }
    }
}

/// Help and the version are what was asked for; all else is a failure, and never the status of a difference.
fn mistyped(error: &clap::Error) -> ExitCode {
    let _unread = error.print();
    if error.use_stderr() {
        FAILED.into()
    } else {
        Ending::Done.into()
    }
}

/// What commands ask a deployment by.
fn client(common: &Common) -> Result<Client, Failure> {
    Ok(Client::new(chosen(&said(common), kept()?)?))
}

fn said(common: &Common) -> Said {
    Said::new(common.url.clone(), common.token.clone())
}

fn run(options: Options, output: Output) -> Result<Ending, Failure> {
    let common = options.common;
    match options.command {
        Command::Validate { file } => {
            let valid = read(&file)?;
            output.either(
                &validate::text(&called(&file), &valid),
                &validate::value(&valid),
            )?;
        }
        Command::Plan {
            file,
            starve,
            markdown,
        } => return planned(&common, &file, starve, markdown, output),
        Command::Apply {
            file,
            starve,
            yes,
            revision,
            why,
            wait_s,
        } => {
            let asked = Asked {
                file,
                starve,
                yes,
                revision,
                why,
                wait_s,
            };
            applied(&common, &asked, output)?;
        }
        Command::Drift { file } => return drifted(&common, &file, output),
        Command::Export => {
            output.text(&export::text(&client(&common)?.policy()?.document)?)?;
        }
        Command::Import { format, file } => {
            let imported = import(format, &called(&file), &bytes(&file)?)?;
            if output.json {
                output.value(&imported.value())?;
            } else {
                for note in &imported.notes {
                    aside(&note.text(&called(&file)));
                }
                output.value(&imported.fragment())?;
            }
        }
        Command::Replay(asked) => {
            let told = replayed(&common, &asked)?;
            output.either(&replay::text(&told), &told)?;
        }
        Command::Agreement(asked) => return agreement(&asked, output),
        Command::Tail {
            tenants,
            reasons,
            denied,
            count,
        } => {
            let filter = Filter {
                tenants,
                reasons,
                denied,
            };
            tail(&client(&common)?, &filter, count, output)?;
        }
        Command::Top {
            budget,
            rows,
            interval_s,
            once,
        } => {
            let top = Top {
                budget,
                rows,
                interval: (!once).then(|| Duration::from_secs(interval_s)),
            };
            top.show(&client(&common)?, output)?;
        }
        Command::Token { command } => tokens(&client(&common)?, command, output)?,
        Command::Login => {
            let done = login::login(&said(&common))?;
            output.either(&done.text(), &done)?;
        }
        Command::Completions { shell } => output.text(&completions::script(shell))?,
        Command::Man { dir: None } => output.text(&man::page()?)?,
        Command::Man { dir: Some(folder) } => man::pages(&folder)?,
    }
    Ok(Ending::Done)
}

fn planned(
    common: &Common,
    file: &str,
    starve: Starve,
    markdown: bool,
    output: Output,
) -> Result<Ending, Failure> {
    let file = read(file)?;
    let plan = plan(&client(common)?, &file, starve.percent)?;
    let text = if markdown {
        plan.markdown()
    } else {
        plan.text()
    };
    output.either(&text, &plan)?;
    Ok(plan.ending())
}

/// What `apply` was told.
struct Asked {
    file: String,
    starve: Starve,
    yes: bool,
    revision: Option<u64>,
    why: Option<String>,
    wait_s: u64,
}

fn applied(common: &Common, asked: &Asked, output: Output) -> Result<(), Failure> {
    if asked.file == STDIN && !asked.yes {
        return Err(Failure::Option {
            option: "--yes",
            why: "a file from the standard input needs it, as nobody can be asked there."
                .to_owned(),
        });
    }
    let file = read(&asked.file)?;
    let client = client(common)?;
    let plan = plan(&client, &file, asked.starve.percent)?;
    agreed(&plan, asked.revision)?;
    if !output.json {
        output.text(&plan.text())?;
    }
    if !asked.yes && !plan.difference.is_empty() {
        confirm(&client.login().url)?;
    }
    let applied = apply(&client, &file, plan, asked.why.as_deref(), asked.wait_s)?;
    output.either(&applied.text(), &applied)
}

fn drifted(common: &Common, file: &str, output: Output) -> Result<Ending, Failure> {
    let file = read(file)?;
    let compared = compare(&file, client(common)?.policy()?)?;
    let drift = Drift {
        revision: compared.revision,
        difference: reversed(compared.difference),
    };
    output.either(&drift.text(), &drift)?;
    Ok(drift.ending())
}

/// A trace is played here, what was recorded where it is.
fn replayed(common: &Common, asked: &Replaying) -> Result<ReplayBody, Failure> {
    let file = read(&asked.file)?;
    let Some(trace) = &asked.trace else {
        let request = ReplayRequest {
            policy: Some(file.document),
            trace: None,
            from: asked.from,
            to: asked.to,
        };
        return client(common)?.replay(&request);
    };
    let files = [&asked.file, trace].into_iter().chain(&asked.present);
    if files.filter(|file| *file == STDIN).count() > 1 {
        return Err(Failure::Option {
            option: "--trace",
            why: "only one file can be the standard input.".to_owned(),
        });
    }
    let (present, revision) = match &asked.present {
        Some(present) => (read(present)?.policy, None),
        None => {
            let compared = compare(&file, client(common)?.policy()?)?;
            (compared.present, Some(compared.revision))
        }
    };
    let mut replay = Replay::new(&present, &file.policy);
    let entries = trace::read(
        &replay,
        asked.limit.as_deref(),
        &called(trace),
        &bytes(trace)?,
    )?;
    let line = ProgressLine::new();
    trace::play(&mut replay, &entries, &mut |done, of| {
        line.tell(&played(done, of));
    });
    Ok(replay.told(crate::clock::epoch(), revision))
}

/// Nobody is asked: the log is held against the file alone.
fn agreement(asked: &Agreeing, output: Output) -> Result<Ending, Failure> {
    if asked.file == STDIN && asked.log == STDIN {
        return Err(Failure::Option {
            option: "--log",
            why: "only one file can be the standard input.".to_owned(),
        });
    }
    let file = read(&asked.file)?;
    let reading = Reading {
        limit: asked.limit.clone(),
        denied: asked.denied.clone(),
    };
    let replay = Replay::new(&file.policy, &file.policy);
    let log = log::read(&replay, &reading, &called(&asked.log), &bytes(&asked.log)?)?;
    let agreement = agreed_with(&file, &log);
    let less = asked
        .least_percent
        .is_some_and(|least| agreement.percent() < f64::from(least));
    let told = AgreementReport { log, agreement };
    output.either(&told.text(), &told.value())?;
    Ok(if less { Ending::Differs } else { Ending::Done })
}

/// How far the log agrees with the file, and meanwhile how much of it is played.
fn agreed_with(file: &Valid, log: &Log) -> Agreement {
    let line = ProgressLine::new();
    let mut tell = |part, done, of| {
        let what = match part {
            Part::Verdicts => "verdicts",
            Part::Reasons => "reasons for differences",
        };
        line.tell(&format!("{what}: {}", played(done, of)));
    };
    let (requests, clock_ms) = (&log.requests, log.clock_ms);
    Agreement::of(&file.document, &file.policy, requests, clock_ms, &mut tell)
}

/// What `top` was told.
struct Top {
    budget: Option<String>,
    rows: usize,
    /// From one look to the next; one look alone where there is none.
    interval: Option<Duration>,
}

impl Top {
    fn show(&self, client: &Client, output: Output) -> Result<(), Failure> {
        let mut before = None;
        loop {
            match client.fairness("") {
                Ok(reply) => {
                    let look = Look::new(reply, self.budget.as_deref(), before.as_ref());
                    self.tell(&look, output)?;
                    before = Some(look);
                }
                // What was seen once may be seen again.
                Err(failure) if before.is_some() && failure.passes() => aside(&failure.to_string()),
                Err(failure) => return Err(failure),
            }
            match self.interval {
                Some(interval) => sleep(interval),
                None => return Ok(()),
            }
        }
    }

    fn tell(&self, look: &Look, output: Output) -> Result<(), Failure> {
        match (output.json, self.interval) {
            (true, None) => output.value(look),
            (true, Some(_)) => output.line(look),
            (false, Some(_)) if std::io::stdout().is_terminal() => {
                output.text(&format!("{REDRAW}{}", look.text(self.rows)))
            }
            (false, _) => output.text(&look.text(self.rows)),
        }
    }
}

fn tokens(client: &Client, command: TokenCommand, output: Output) -> Result<(), Failure> {
    match command {
        TokenCommand::List => {
            let all = token::all(client)?;
            output.either(&token::text(&all), &all)
        }
        TokenCommand::Create {
            name,
            role,
            tenant,
            prefix,
            days,
        } => {
            let asked = TokenRequest {
                name,
                role,
                tenant,
                prefix,
                expires_at: None,
            };
            let asked = token::ending(asked, days, crate::clock::epoch())?;
            let made = client.make_token(&asked)?;
            if !output.json {
                aside(&token::made(&made));
            }
            output.either(&format!("{}\n", made.token), &made)
        }
        TokenCommand::Revoke { id } => {
            client.revoke_token(&id)?;
            let text = format!("{id} is revoked: it no longer works.\n");
            output.either(&text, &json!({ "revoked": id }))
        }
    }
}
