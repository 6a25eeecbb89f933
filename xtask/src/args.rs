//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use lexopt::prelude::*;

use crate::bench::Section;
use crate::mutants::{SAMPLE, SEED};
use crate::test::{Scope, Step};

/// What `--help` prints.
pub(crate) const USAGE: &str = "\
cargo xtask dev [--demo] [--port N]   build Weir and run it on this machine (--demo: with traffic)
cargo xtask test [--only STEP]        everything that is checked: lints, tests, end-to-end, browser
cargo xtask test --quick              lints and quick native tests of what changed since the last commit
cargo xtask test --repeat N [--busy] [NAME]...  the end-to-end tests, or those whose names begin so, N times, and what
                                      failed how often (--busy: beside other work)
cargo xtask bench [--only SECTION]    measure, and write the figures into BENCHMARKS.md
cargo xtask bench --only edge --from REVISION  and beside it, in the same run, an earlier version of the Worker
cargo xtask build [--edge|--console]  build the Worker and the console, only what changed
cargo xtask book                      the documentation as a site: target/book/index.html
cargo xtask book-check                makes the site, and looks at each page in a browser as a phone and as screens show it
cargo xtask package                   the npm package: target/package/weir-VERSION.tgz
cargo xtask fuzz [--executions N] [--target T]  what reads input, given what nobody meant (10^8 executions)
cargo xtask vectors DIR               replay a folder of golden vectors: passed, failed, not compared and why
cargo xtask mutants [--sample N] [--seed S] [--shard K/N]  whether the tests notice changes of what decides
cargo xtask upgrade [--from REVISION]  an upgrade from an earlier version of the Worker, and back, under load
cargo xtask cluster [--workerd VERSION]  three workerds that share their objects, and one of them killed under load
cargo xtask setup                     the set-up that the other commands do by themselves
cargo xtask env                       shell exports to run the tools by hand: eval \"$(cargo xtask env)\"
";

const DEFAULT_PORT: u16 = 8787;

/// One command with its options.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Help,
    /// Ends well at once.
    Nothing,
    Setup,
    Env,
    Build(Selection),
    Dev(DevOptions),
    Bench {
        only: Option<Section>,
        from: Option<String>,
    },
    Test(Scope),
    Book,
    BookCheck,
    /// What mdBook calls while it makes the site.
    BookPages,
    Package,
    Cluster {
        workerd: Option<String>,
    },
    Upgrade {
        /// What to start from; without it, what the repository names.
        from: Option<String>,
    },
    Vectors {
        folder: PathBuf,
    },
    Fuzz(FuzzOptions),
    Mutants(MutantsOptions),
}

/// Which of the two wasm artefacts to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) edge: bool,
    pub(crate) console: bool,
}

impl Selection {
    pub(crate) const BOTH: Self = Self {
        edge: true,
        console: true,
    };
    pub(crate) const EDGE: Self = Self {
        edge: true,
        console: false,
    };
}

/// How `dev` runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DevOptions {
    pub(crate) demo: bool,
    pub(crate) port: u16,
}

/// How `fuzz` runs; what is absent, the program itself decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FuzzOptions {
    pub(crate) executions: Option<u64>,
    pub(crate) target: Option<String>,
}

/// Which mutants are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MutantsOptions {
    pub(crate) sample: usize,
    pub(crate) seed: u64,
    /// The number of the shard, from 1, and how many there are.
    pub(crate) shard: (usize, usize),
}

/// Reads the arguments that follow `cargo xtask`.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments
        .iter()
        .any(|word| word == "--help" || word == "-h")
    {
        return Ok(Command::Help);
    }
    let mut parser = lexopt::Parser::from_args(arguments);
    match parser.next()? {
        None => Ok(Command::Help),
        Some(Value(name)) => match name.string()?.as_str() {
            "help" => plain(parser, Command::Help),
            "setup" => plain(parser, Command::Setup),
            "env" => plain(parser, Command::Env),
            "build" => build(parser),
            "dev" => dev(parser),
            "test" => test(parser),
            "bench" => bench(parser),
            "book" => plain(parser, Command::Book),
            "book-check" => plain(parser, Command::BookCheck),
            "book-pages" => book_pages(parser),
            "package" => plain(parser, Command::Package),
            "upgrade" => upgrade(parser),
            "cluster" => cluster(parser),
            "vectors" => vectors(parser),
            "fuzz" => fuzz(parser),
            "mutants" => mutants(parser),
            other => bail!("unknown command `{other}`; the commands are:\n{USAGE}"),
        },
        Some(other) => Err(other.unexpected().into()),
    }
}

fn plain(mut parser: lexopt::Parser, command: Command) -> Result<Command> {
    match parser.next()? {
        None => Ok(command),
        Some(other) => Err(other.unexpected().into()),
    }
}

/// mdBook asks first whether a kind of output is served (`supports html`): every one is, and nothing is to be read then.
fn book_pages(mut parser: lexopt::Parser) -> Result<Command> {
    match parser.next()? {
        None => Ok(Command::BookPages),
        Some(Value(word)) if word == "supports" => {
            parser.value()?;
            Ok(Command::Nothing)
        }
        Some(other) => Err(other.unexpected().into()),
    }
}

fn build(mut parser: lexopt::Parser) -> Result<Command> {
    let (mut edge, mut console) = (false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("edge") => edge = true,
            Long("console") => console = true,
            other => return Err(other.unexpected().into()),
        }
    }
    let named = Selection { edge, console };
    let selection = if edge || console {
        named
    } else {
        Selection::BOTH
    };
    Ok(Command::Build(selection))
}

fn dev(mut parser: lexopt::Parser) -> Result<Command> {
    let mut options = DevOptions {
        demo: false,
        port: DEFAULT_PORT,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("demo") => options.demo = true,
            Long("port") => options.port = port(&parser.value()?.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Dev(options))
}

fn port(text: &str) -> Result<u16> {
    match text.parse() {
        Ok(0) | Err(_) => bail!("--port takes a number from 1 to 65535, not `{text}`"),
        Ok(port) => Ok(port),
    }
}

fn test(mut parser: lexopt::Parser) -> Result<Command> {
    let (mut only, mut quick, mut repeat, mut busy) = (None, false, None, false);
    let mut names = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("only") => only = Some(Step::named(&parser.value()?.string()?)?),
            Long("quick") => quick = true,
            Long("repeat") => repeat = Some(times(&parser.value()?.string()?)?),
            Long("busy") => busy = true,
            Value(name) if repeat.is_some() => names.push(beginning(&name.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    let scope = match (only, quick, repeat) {
        (None, false, None) => Scope::Everything,
        (Some(step), false, None) => Scope::Only(step),
        (None, true, None) => Scope::Quick,
        (None, false, Some(times)) => Scope::Repeat { times, busy, names },
        _ => bail!("test takes one of --only, --quick and --repeat"),
    };
    if busy && repeat.is_none() {
        bail!("--busy goes with --repeat");
    }
    Ok(Command::Test(scope))
}

fn times(text: &str) -> Result<u32> {
    match text.parse() {
        Ok(0) | Err(_) => bail!("--repeat takes a number from 1 on, not `{text}`"),
        Ok(times) => Ok(times),
    }
}

/// How names of tests begin: suites and modules.
fn beginning(text: &str) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_:".contains(&byte);
    if text.bytes().all(fits) {
        Ok(text.to_owned())
    } else {
        bail!("a test's name has letters, digits, `_` and `::`, not `{text}`")
    }
}

fn bench(mut parser: lexopt::Parser) -> Result<Command> {
    let (mut only, mut from) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("only") => only = Some(Section::named(&parser.value()?.string()?)?),
            Long("from") => from = Some(parser.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    if from.is_some() && only != Some(Section::Edge) {
        bail!("--from goes with --only edge");
    }
    Ok(Command::Bench { only, from })
}

fn upgrade(mut parser: lexopt::Parser) -> Result<Command> {
    let mut from = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("from") => from = Some(parser.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Upgrade { from })
}

fn cluster(mut parser: lexopt::Parser) -> Result<Command> {
    let mut workerd = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Long("workerd") => workerd = Some(version(&parser.value()?.string()?)?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Cluster { workerd })
}

/// A version of a package: it names a folder, too.
fn version(text: &str) -> Result<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b".-".contains(&byte);
    if text.starts_with(|first: char| first.is_ascii_digit()) && text.bytes().all(fits) {
        Ok(text.to_owned())
    } else {
        bail!("--workerd takes a version such as 1.20261117.1, not `{text}`")
    }
}

fn vectors(mut parser: lexopt::Parser) -> Result<Command> {
    let mut folder = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Value(path) if folder.is_none() => folder = Some(PathBuf::from(path)),
            other => return Err(other.unexpected().into()),
        }
    }
    match folder {
        Some(folder) => Ok(Command::Vectors { folder }),
        None => bail!("vectors takes the folder to replay: cargo xtask vectors DIR"),
    }
}

fn mutants(mut parser: lexopt::Parser) -> Result<Command> {
    let mut options = MutantsOptions {
        sample: SAMPLE,
        seed: SEED,
        shard: (1, 1),
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("sample") => options.sample = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("shard") => options.shard = shard(&parser.value()?.string()?)?,
            other => return Err(other.unexpected().into()),
        }
    }
    if options.sample == 0 {
        bail!("--sample takes a number from 1 on");
    }
    Ok(Command::Mutants(options))
}

fn shard(text: &str) -> Result<(usize, usize)> {
    let numbers = text
        .split_once('/')
        .and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    match numbers {
        Some((index, of)) if (1..=of).contains(&index) => Ok((index, of)),
        _ => bail!(
            "--shard takes the number of a shard and how many there are, as 1/4, not `{text}`"
        ),
    }
}

fn fuzz(mut parser: lexopt::Parser) -> Result<Command> {
    let mut options = FuzzOptions::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("executions") => options.executions = Some(parser.value()?.parse()?),
            Long("target") => options.target = Some(parser.value()?.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Command::Fuzz(options))
}

#[cfg(test)]
mod tests;
