//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Result, bail};
use lexopt::prelude::*;

use crate::bench::Section;
use crate::cluster::WORKERD;
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
        workerd: String,
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
    let mut workerd = WORKERD.to_owned();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("workerd") => workerd = version(&parser.value()?.string()?)?,
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
        bail!("--workerd takes a version such as {WORKERD}, not `{text}`")
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
mod tests {
    use super::*;

    fn check(line: &str, expected: Command) {
        let arguments = line.split_whitespace().map(OsString::from);
        assert_eq!(parse(arguments).unwrap(), expected, "{line}");
    }

    fn refused(line: &str, part: &str) {
        let arguments = line.split_whitespace().map(OsString::from);
        let message = parse(arguments).unwrap_err().to_string();
        assert!(message.contains(part), "{line}: {message}");
    }

    #[test]
    fn each_command_is_read() {
        check("", Command::Help);
        check("--help", Command::Help);
        check("setup", Command::Setup);
        check("env", Command::Env);
        check("test", Command::Test(Scope::Everything));
        check("test --help", Command::Help);
        check("fuzz -h", Command::Help);
    }

    #[test]
    fn build_means_both_unless_one_is_named() {
        let only = |edge, console| Command::Build(Selection { edge, console });
        check("build", only(true, true));
        check("build --edge", only(true, false));
        check("build --console", only(false, true));
        check("build --edge --console", only(true, true));
    }

    #[test]
    fn dev_has_a_port_and_a_demo() {
        let dev = |demo, port| Command::Dev(DevOptions { demo, port });
        check("dev", dev(false, 8787));
        check("dev --demo", dev(true, 8787));
        check("dev --port 9000 --demo", dev(true, 9000));
        check("dev --port=9000", dev(false, 9000));
    }

    #[test]
    fn cluster_takes_a_version_of_workerd() {
        let workerd = "1.20270101.0".to_owned();
        check(
            "cluster --workerd 1.20270101.0",
            Command::Cluster { workerd },
        );
        for version in ["latest", "../1.2", "1.2/x"] {
            refused(&format!("cluster --workerd {version}"), version);
        }
    }

    #[test]
    fn test_takes_one_scope() {
        check("test --only fmt", Command::Test(Scope::Only(Step::Fmt)));
        check("test --quick", Command::Test(Scope::Quick));
        let repeat = |times, busy, names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            Command::Test(Scope::Repeat { times, busy, names })
        };
        check("test --repeat 10", repeat(10, false, &[]));
        check("test --busy --repeat=3", repeat(3, true, &[]));
        let named = repeat(2, false, &["shares", "limits::storm"]);
        check("test --repeat 2 shares limits::storm", named);
        refused("test --repeat 2 .*", "not `.*`");
        refused("test shares", "shares");
    }

    #[test]
    fn mutants_are_a_sample_a_seed_and_a_shard() {
        let mutants = |sample, seed, shard| {
            let options = MutantsOptions {
                sample,
                seed,
                shard,
            };
            Command::Mutants(options)
        };
        check("mutants", mutants(SAMPLE, SEED, (1, 1)));
        check("mutants --sample 9 --seed 7", mutants(9, 7, (1, 1)));
        check("mutants --shard 2/4", mutants(SAMPLE, SEED, (2, 4)));
        for shard in ["0/4", "5/4", "1/0", "4", "a/b", "1/2/3"] {
            refused(&format!("mutants --shard {shard}"), "as 1/4");
        }
        refused("mutants --sample 0", "from 1 on");
    }

    #[test]
    fn bench_takes_one_section_and_the_edge_a_version_before() {
        let bench = |only, from: Option<&str>| Command::Bench {
            only,
            from: from.map(str::to_owned),
        };
        check("bench", bench(None, None));
        check("bench --only latency", bench(Some(Section::Latency), None));
        let beside = bench(Some(Section::Edge), Some("v0.2.0"));
        check("bench --only edge --from v0.2.0", beside);
    }

    #[test]
    fn mdbook_is_told_that_any_output_is_served_before_it_gives_the_book() {
        check("book", Command::Book);
        check("book-check", Command::BookCheck);
        check("book-pages", Command::BookPages);
        check("book-pages supports html", Command::Nothing);
        refused("book-pages now", "now");
    }

    #[test]
    fn upgrade_starts_from_a_revision_or_from_what_is_named() {
        check("upgrade", Command::Upgrade { from: None });
        let from = Some("v0.2.0".to_owned());
        check("upgrade --from v0.2.0", Command::Upgrade { from });
        refused("upgrade v0.2.0", "v0.2.0");
    }

    #[test]
    fn vectors_takes_one_folder() {
        let folder = PathBuf::from("../some/folder");
        check("vectors ../some/folder", Command::Vectors { folder });
        check("vectors --help", Command::Help);
        refused("vectors", "the folder to replay");
        refused("vectors one two", "two");
    }

    #[test]
    fn fuzz_takes_a_number_and_a_target() {
        check("fuzz", Command::Fuzz(FuzzOptions::default()));
        let options = FuzzOptions {
            executions: Some(7),
            target: Some("json".to_owned()),
        };
        check("fuzz --target json --executions 7", Command::Fuzz(options));
        refused("fuzz --executions many", "many");
    }

    #[test]
    fn what_is_not_understood_is_named() {
        refused("serve", "unknown command `serve`");
        refused("build --fast", "--fast");
        refused("setup now", "now");
        refused("dev --port", "--port");
        refused("dev --port 0", "not `0`");
        refused("dev --port 65536", "not `65536`");
        refused("test --only lint", "no step `lint`");
        refused("test --repeat 0", "not `0`");
        refused("test --quick --only fmt", "one of");
        refused("test --busy", "--repeat");
        refused("bench --only speed", "no section `speed`");
        refused("bench --only latency --from v0.2.0", "--only edge");
    }
}
