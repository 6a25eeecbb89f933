//! The environment in which the tools run: PATH, and the variables by which they find each other.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::browser::Browser;
use crate::tools::{Tool, WASM_BINDGEN};
use crate::{node, paths, process, rust};

/// A test that runs in a browser may take this long; a debug build on a busy machine needs more than the default.
const BROWSER_TEST_SECONDS: &str = "300";
const BROWSER_START_SECONDS: &str = "60";

/// What `cargo clippy -- --deny warnings` tells its compiler.
const LINTS: &str = "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

/// Variables for the tools that a command starts.
#[derive(Debug)]
pub(crate) struct Environment {
    variables: Vec<(&'static str, OsString)>,
    folders: Vec<PathBuf>,
    /// The names of `variables` that a person's shell needs as well.
    exported: Vec<&'static str>,
    steps_back: bool,
}

/// How far a command steps back that nobody waits for.
const NICENESS: &str = "19";

impl Environment {
    /// The caller's own, and nothing else.
    pub(crate) fn new() -> Self {
        Self {
            variables: Vec::new(),
            folders: Vec::new(),
            exported: Vec::new(),
            steps_back: false,
        }
    }

    /// Lets the pinned tools be found before others of their names.
    pub(crate) fn with_tools(mut self, tools: &[&Tool]) -> Result<Self> {
        for tool in tools {
            let folder = tool.bin()?;
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        Ok(self)
    }

    /// Lets the programs of npm be found, and worker-build use the pinned tools; it would fetch its own otherwise.
    pub(crate) fn with_packages(mut self) -> Result<Self> {
        self.folders.push(paths::node_modules().join(".bin"));
        self.set("WRANGLER_SEND_METRICS", "false");
        // wrangler would fetch a sample of request metadata from the network; nothing here uses it.
        self.set("CLOUDFLARE_CF_FETCH_ENABLED", "false");
        let bindgen = WASM_BINDGEN.bin()?.join("wasm-bindgen");
        self.set("WASM_BINDGEN_BIN", bindgen);
        self.set("WASM_OPT_BIN", node::program("wasm-opt")?);
        self.set("ESBUILD_BIN", node::program("esbuild")?);
        Ok(self)
    }

    /// Lets the browser tests find the browser.
    pub(crate) fn with_browser(mut self, browser: &Browser) -> Result<Self> {
        // wasm-pack looks on PATH only; a driver elsewhere would be fetched.
        let on_path = process::find("chromedriver");
        if on_path.as_ref() != Some(&browser.driver) {
            let folder = browser.driver.parent().unwrap_or(Path::new("/"));
            self.folders.push(folder.to_owned());
        }
        self.export("CHROMEDRIVER", &browser.driver);
        self.export("WASM_BINDGEN_TEST_TIMEOUT", BROWSER_TEST_SECONDS);
        self.export("WASM_BINDGEN_TEST_DRIVER_TIMEOUT", BROWSER_START_SECONDS);
        if let Some(config) = browser.webdriver_config()? {
            self.export("WASM_BINDGEN_TEST_WEBDRIVER_JSON", config);
        }
        self.set("WEIR_CHROMEDRIVER", &browser.driver);
        self.set("WEIR_CHROME", &browser.browser);
        Ok(self)
    }

    /// Lets the tests find programs and their packages, each by a variable.
    pub(crate) fn with_programs(mut self, programs: Vec<(&'static str, PathBuf)>) -> Self {
        for (variable, path) in programs {
            self.export(variable, path);
        }
        self
    }

    /// Lets all commands run behind whatever else wants the machine.
    pub(crate) fn stepping_back(mut self) -> Self {
        self.steps_back = true;
        self
    }

    /// Lets what is compiled natively be compiled as quickly as can be, for tests that do not run for long.
    pub(crate) fn not_optimised(mut self) -> Self {
        self.set("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
        self
    }

    /// Lets what is compiled of the workspace be linted by the way, with warnings denied: to check it apart takes as long
    /// again. What comes of it is optimised differently, so nothing that is shipped is compiled so.
    pub(crate) fn linting(mut self) -> Result<Self> {
        self.set("RUSTC_WORKSPACE_WRAPPER", rust::linting_compiler()?);
        self.set("CLIPPY_ARGS", LINTS);
        Ok(self)
    }

    fn set(&mut self, name: &'static str, value: impl AsRef<OsStr>) {
        self.variables.push((name, value.as_ref().to_owned()));
    }

    fn export(&mut self, name: &'static str, value: impl AsRef<OsStr>) {
        self.set(name, value);
        self.exported.push(name);
    }

    /// A command at the root of the repository.
    pub(crate) fn command(&self, program: &str) -> Result<Command> {
        // Looked up here: the system looks on the PATH of this process, not on the child's.
        let path = self.path()?;
        let file = env::split_paths(&path)
            .map(|folder| folder.join(program))
            .find(|file| process::is_executable(file))
            .with_context(|| format!("`{program}` is not on PATH"))?;
        let mut command = if self.steps_back {
            let mut nice = Command::new("nice");
            nice.args(["-n", NICENESS]).arg(file);
            nice
        } else {
            Command::new(file)
        };
        command.current_dir(paths::root()).env("PATH", path);
        for (name, _) in env::vars_os().filter(|(name, _)| is_of_this_program(name)) {
            command.env_remove(name);
        }
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        Ok(command)
    }

    fn path(&self) -> Result<OsString> {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let folders = self.folders.iter().cloned();
        env::join_paths(folders.chain(env::split_paths(&inherited)))
            .context("a tool's folder cannot be put on PATH")
    }

    /// Lines for a POSIX shell.
    pub(crate) fn exports(&self) -> String {
        let folders: String = self
            .folders
            .iter()
            .map(|folder| quoted(folder.as_os_str()) + ":")
            .collect();
        let mut lines = format!("export PATH={folders}\"$PATH\"\n");
        for (name, value) in &self.variables {
            if self.exported.contains(name) {
                lines += &format!("export {name}={}\n", quoted(value));
            }
        }
        lines
    }
}

/// Whether by this variable cargo tells this program where and what it is. Build scripts that read it would run again in
/// each clone, and what is made with them be compiled anew.
fn is_of_this_program(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "CARGO_MANIFEST_DIR" || name.starts_with("CARGO_PKG_")
}

/// The text in single quotes, as a POSIX shell reads it back.
fn quoted(text: &OsStr) -> String {
    format!("'{}'", text.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_command_is_told_what_cargo_tells_this_program() {
        let command = Environment::new().command("cargo").unwrap();
        let removed = command.get_envs().filter(|(_, value)| value.is_none());
        let removed: Vec<_> = removed.map(|(name, _)| name).collect();
        for name in ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"] {
            assert!(env::var_os(name).is_some(), "cargo sets {name}");
            assert!(removed.contains(&OsStr::new(name)), "{name}");
        }
    }

    fn environment() -> Environment {
        Environment {
            variables: vec![("SHOWN", "it's".into()), ("HIDDEN", "x".into())],
            folders: vec!["/a b".into(), "/c".into()],
            exported: vec!["SHOWN"],
            steps_back: false,
        }
    }

    #[test]
    fn a_shell_reads_the_exports_back() {
        let script = format!(
            "PATH=/usr/bin:/bin; {} printf '%s|%s|%s' \"$PATH\" \"$SHOWN\" \"${{HIDDEN-}}\"",
            environment().exports()
        );
        let text = process::capture(Command::new("sh").args(["-c", &script])).unwrap();
        assert_eq!(text, "/a b:/c:/usr/bin:/bin|it's|");
    }

    #[test]
    fn a_command_sees_the_variables_and_the_folders_first() {
        let mut command = environment().command("sh").unwrap();
        let text = process::capture(command.args(["-c", "echo $PATH; echo $HIDDEN"])).unwrap();
        assert!(text.starts_with("/a b:/c:"), "{text}");
        assert!(text.ends_with("\nx"), "{text}");
    }

    #[test]
    fn a_command_that_steps_back_is_the_same_command() {
        let text = |environment: Environment| {
            let mut command = environment.command("sh").unwrap();
            process::capture(command.args(["-c", "echo $PATH; echo $HIDDEN; pwd; nice"])).unwrap()
        };
        let (usual, back) = (text(environment()), text(environment().stepping_back()));
        let split = |text: &str| {
            let (rest, niceness) = text.rsplit_once('\n').unwrap();
            (rest.to_owned(), niceness.parse::<i32>().unwrap())
        };
        let ((usual, before), (back, after)) = (split(&usual), split(&back));
        assert_eq!(usual, back);
        assert!(after > before || after == 19, "{before} {after}");
    }

    #[test]
    fn what_is_linted_as_it_is_compiled_is_refused_for_a_lint() {
        let folder = tempfile::tempdir().unwrap();
        let write =
            |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write(
            "Cargo.toml",
            "[package]\nname = \"linted\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n",
        );
        let compiles = |mut cargo: Command| {
            cargo
                .current_dir(folder.path())
                .args(["build", "--quiet", "--offline"]);
            cargo.env("CARGO_TARGET_DIR", folder.path().join("target"));
            let output = cargo.output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            (output.status.success(), told)
        };
        // Who runs this may be linted itself.
        let plainly = || {
            let mut cargo = Environment::new().command("cargo").unwrap();
            cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
            cargo
        };
        let linting = Environment::new().linting().unwrap();
        write(
            "lib.rs",
            "pub fn says_nothing(text: &str) -> bool { text.len() == 0 }\n",
        );
        assert!(compiles(plainly()).0);
        let (compiled, told) = compiles(linting.command("cargo").unwrap());
        assert!(!compiled && told.contains("len_zero"), "{told}");
        write(
            "lib.rs",
            "pub fn says_nothing(text: &str) -> bool { text.is_empty() }\n",
        );
        let again = compiles(linting.command("cargo").unwrap());
        assert_eq!(again, (true, String::new()));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = environment().command("no-such-program").unwrap_err();
        assert!(error.to_string().contains("no-such-program"));
    }
}
