//! The steps of `test`, in their order.

use std::io::{self, Write};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::stream;
use super::totals::Totals;
use crate::args::Selection;
use crate::environment::Environment;
use crate::rust::WASM_TARGET;
use crate::{build, paths, process, tidy};

/// One thing that is checked. The quick ones come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Tidy,
    Fmt,
    ClippyNative,
    ClippyWasm,
    Native,
    Build,
    Deploy,
    BrowserShared,
    BrowserConsole,
    EndToEnd,
}

/// What a step came to.
pub(super) struct Outcome {
    pub(super) totals: Totals,
    pub(super) result: Result<()>,
}

impl Step {
    pub(crate) const ALL: [Self; 10] = [
        Self::Tidy,
        Self::Fmt,
        Self::ClippyNative,
        Self::ClippyWasm,
        Self::Native,
        Self::Build,
        Self::Deploy,
        Self::BrowserShared,
        Self::BrowserConsole,
        Self::EndToEnd,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Fmt => "fmt",
            Self::ClippyNative => "clippy-native",
            Self::ClippyWasm => "clippy-wasm",
            Self::Native => "native",
            Self::Build => "build",
            Self::Deploy => "deploy",
            Self::BrowserShared => "browser-shared",
            Self::BrowserConsole => "browser-console",
            Self::EndToEnd => "e2e",
        }
    }

    pub(super) fn purpose(self) -> &'static str {
        match self {
            Self::Tidy => "rules about the text of the repository",
            Self::Fmt => "the format of the sources",
            Self::ClippyNative => "lints of what runs natively",
            Self::ClippyWasm => "lints of what runs as wasm",
            Self::Native => "native tests",
            Self::Build => "the Worker and the console for release",
            Self::Deploy => "wrangler accepts the deployment",
            Self::BrowserShared => "the state machines in a browser",
            Self::BrowserConsole => "the console's components in a browser",
            Self::EndToEnd => "the built Worker on the real runtime, and the console on it",
        }
    }

    /// The step of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let step = Self::ALL.into_iter().find(|step| step.name() == name);
        step.with_context(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("there is no step `{name}`; the steps are {names}")
        })
    }

    pub(super) fn needs_browser(self) -> bool {
        matches!(
            self,
            Self::BrowserShared | Self::BrowserConsole | Self::EndToEnd
        )
    }

    pub(super) fn run(self, environment: &Environment) -> Outcome {
        let done = match self {
            Self::Tidy => check(tidy::run()),
            Self::Fmt => check(fmt(environment)),
            Self::ClippyNative => check(clippy_native(environment)),
            Self::ClippyWasm => check(clippy_wasm(environment)),
            Self::Native => native(environment),
            Self::Build => check(build::build(Selection::BOTH, environment)),
            Self::Deploy => check(deploy(environment)),
            Self::BrowserShared => browser(environment, "shared"),
            Self::BrowserConsole => browser(environment, "console"),
            Self::EndToEnd => end_to_end(environment),
        };
        done.unwrap_or_else(|error| Outcome {
            totals: Totals::default(),
            result: Err(error),
        })
    }
}

/// The outcome of a step that is one check.
fn check(result: Result<()>) -> Result<Outcome> {
    result.map(|()| Outcome {
        totals: Totals::default(),
        result: Ok(()),
    })
}

/// The outcome of a step that runs tests: one that runs none has checked nothing.
fn tests(command: &mut Command, output: impl Write) -> Outcome {
    let (totals, mut result) = stream::run(command, output);
    if result.is_ok() && totals.count() == 0 {
        result = Err(anyhow::anyhow!("no test ran"));
    }
    Outcome { totals, result }
}

fn fmt(environment: &Environment) -> Result<()> {
    // The names of the files: what is to change in them, `cargo fmt` knows.
    let mut cargo = environment.command("cargo")?;
    process::run(cargo.args(["fmt", "--all", "--check", "--", "-l"]))
}

fn clippy_native(environment: &Environment) -> Result<()> {
    let packages = ["xtask", "weir-shared", "weir-console", "weir-tests"];
    clippy(environment.command("cargo")?.args(["clippy"]), &packages)
}

fn clippy_wasm(environment: &Environment) -> Result<()> {
    let packages = ["weir-edge", "weir-shared", "weir-console"];
    let mut cargo = environment.command("cargo")?;
    clippy(cargo.args(["clippy", "--target", WASM_TARGET]), &packages)
}

fn clippy(cargo: &mut Command, packages: &[&str]) -> Result<()> {
    cargo.arg("--all-targets").args(selected(packages));
    process::run(cargo.args(["--", "--deny", "warnings"]))
}

fn native(environment: &Environment) -> Result<Outcome> {
    let mut cargo = environment.command("cargo")?;
    cargo.args(["test", "--no-fail-fast"]);
    cargo.args(selected(&["xtask", "weir-shared", "weir-console"]));
    Ok(tests(&mut cargo, io::stdout()))
}

fn selected<'a>(packages: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
    packages.iter().flat_map(|name| ["--package", name])
}

fn deploy(environment: &Environment) -> Result<()> {
    let mut wrangler = environment.command("wrangler")?;
    wrangler.args(["deploy", "--dry-run", "--outdir"]);
    wrangler.arg(paths::local("deploy"));
    process::run(&mut wrangler)
}

/// The same line that the README gives, less the search for programs: what is missing must fail, not be fetched.
fn browser(environment: &Environment, package: &str) -> Result<Outcome> {
    let mut wasm_pack = environment.command("wasm-pack")?;
    wasm_pack.args([
        "test",
        "--headless",
        "--chrome",
        "--mode",
        "no-install",
        package,
    ]);
    Ok(tests(&mut wasm_pack, io::stdout()))
}

fn end_to_end(environment: &Environment) -> Result<Outcome> {
    // Alone, this step must not test what an older build left.
    if let Err(error) = build::build(Selection::BOTH, environment) {
        bail!("there is nothing to test: {error:#}");
    }
    let mut cargo = environment.command("cargo")?;
    cargo.args(["test", "--no-fail-fast", "--package", "weir-tests"]);
    Ok(tests(&mut cargo, io::stdout()))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn each_name_leads_to_its_step() {
        for step in Step::ALL {
            assert_eq!(Step::named(step.name()).unwrap(), step);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_names() {
        let message = Step::named("lint").unwrap_err().to_string();
        assert!(
            message.contains("`lint`") && message.contains("clippy-wasm"),
            "{message}"
        );
    }

    #[test]
    fn running_no_test_is_a_failure() {
        let outcome = tests(&mut Command::new("true"), io::sink());
        assert!(outcome.result.is_err());
        let line = "test result: ok. 1 passed; 0 failed; 0 ignored";
        assert!(
            tests(Command::new("echo").arg(line), io::sink())
                .result
                .is_ok()
        );
    }
}
