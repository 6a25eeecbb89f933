//! Where the programs and the build under test are.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The folder of the workspace: the nearest above the one that this runs in. A program that was compiled in another clone
/// finds the one that it runs in.
pub fn workspace() -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    let root = here
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").is_file());
    root.unwrap_or(&here).to_path_buf()
}

/// Where this crate is.
pub fn crate_dir() -> PathBuf {
    workspace().join("tests")
}

/// The built Worker: `WEIR_EDGE_BUILD`, else `edge/build`.
pub fn edge_build() -> Result<PathBuf> {
    let dir = from_env("WEIR_EDGE_BUILD").unwrap_or_else(|| workspace().join("edge/build"));
    for name in ["index.js", "index_bg.wasm"] {
        ensure!(
            dir.join(name).is_file(),
            "{} has no {name}; run `cargo xtask build`",
            dir.display()
        );
    }
    Ok(dir)
}

/// A version of the Worker before the one under test, where `cargo xtask` names one: `WEIR_PREVIOUS_BUILD`.
pub fn previous_build() -> Option<PathBuf> {
    from_env("WEIR_PREVIOUS_BUILD")
}

/// The built console: `WEIR_CONSOLE_BUILD`, else `console/dist`.
pub fn console_build() -> Result<PathBuf> {
    let dir = from_env("WEIR_CONSOLE_BUILD").unwrap_or_else(|| workspace().join("console/dist"));
    existing(dir.join("console/index.html"), "run `cargo xtask build`")?;
    Ok(dir)
}

/// The command `weir`: `WEIR_CLI`, else the one that was built beside the program that runs.
pub fn cli() -> Result<PathBuf> {
    beside("WEIR_CLI", "weir", "run `cargo build -p weir-cli`")
}

/// The program `weir-agent`: `WEIR_AGENT`, else the one that was built beside the program that runs.
pub fn agent() -> Result<PathBuf> {
    beside(
        "WEIR_AGENT",
        "weir-agent",
        "run `cargo build -p weir-agent`",
    )
}

/// A script of the Rust client's tests, which is compiled with them.
pub fn rust_client() -> Result<PathBuf> {
    beside(
        "WEIR_RUST_CLIENT",
        "rust_client",
        "run `cargo build -p weir-tests`",
    )
}

fn beside(variable: &str, name: &str, remedy: &str) -> Result<PathBuf> {
    let tests = env::current_exe().context("the program that runs")?;
    let built = tests.ancestors().nth(2).unwrap_or(&tests);
    let program = || built.join(format!("{name}{}", env::consts::EXE_SUFFIX));
    existing(from_env(variable).unwrap_or_else(program), remedy)
}

/// The script that checks pages for accessibility.
pub fn axe() -> Result<PathBuf> {
    existing(
        workspace().join("node_modules/axe-core/axe.min.js"),
        "run `npm ci`",
    )
}

/// The native workerd: `WEIR_WORKERD`, else the one that npm installed for this platform.
pub fn workerd() -> Result<PathBuf> {
    let platform = match (env::consts::OS, env::consts::ARCH) {
        ("macos", "aarch64") => "darwin-arm64",
        ("macos", _) => "darwin-64",
        (_, "aarch64") => "linux-arm64",
        _ => "linux-64",
    };
    let installed = workspace().join(format!(
        "node_modules/@cloudflare/workerd-{platform}/bin/workerd"
    ));
    existing(
        from_env("WEIR_WORKERD").unwrap_or(installed),
        "run `npm ci`",
    )
}

/// The wrangler that npm installed, which Node runs.
pub fn wrangler() -> Result<PathBuf> {
    existing(
        workspace().join("node_modules/wrangler/bin/wrangler.js"),
        "run `npm ci`",
    )
}

/// The Node that runs wrangler: `WEIR_WRANGLER_NODE`, else from `PATH`.
pub fn wrangler_node() -> Result<PathBuf> {
    program("WEIR_WRANGLER_NODE", &["node"])
}

/// The bundler that npm installed.
pub fn esbuild() -> Result<PathBuf> {
    existing(
        workspace().join("node_modules/.bin/esbuild"),
        "run `npm ci`",
    )
}

/// The driver of the browser: `WEIR_CHROMEDRIVER`, else from `PATH`.
pub fn chromedriver() -> Result<PathBuf> {
    program("WEIR_CHROMEDRIVER", &["chromedriver"])
}

/// The browser: `WEIR_CHROME`, else from `PATH`.
pub fn chrome() -> Result<PathBuf> {
    program(
        "WEIR_CHROME",
        &["chromium", "chromium-browser", "google-chrome"],
    )
}

/// nginx: `WEIR_NGINX`, else from `PATH`.
pub fn nginx() -> Result<PathBuf> {
    program("WEIR_NGINX", &["nginx"])
}

/// Caddy: `WEIR_CADDY`, else from `PATH`.
pub fn caddy() -> Result<PathBuf> {
    program("WEIR_CADDY", &["caddy"])
}

/// Envoy: `WEIR_ENVOY`, else from `PATH`.
pub fn envoy() -> Result<PathBuf> {
    program("WEIR_ENVOY", &["envoy"])
}

/// Prometheus: `WEIR_PROMETHEUS`, else from `PATH`.
pub fn prometheus() -> Result<PathBuf> {
    program("WEIR_PROMETHEUS", &["prometheus"])
}

/// Its checker of rules and metrics: `WEIR_PROMTOOL`, else from `PATH`.
pub fn promtool() -> Result<PathBuf> {
    program("WEIR_PROMTOOL", &["promtool"])
}

/// Python: `WEIR_PYTHON`, else from `PATH`.
pub fn python() -> Result<PathBuf> {
    program("WEIR_PYTHON", &["python3"])
}

/// The packages of Python that its client's tests run with: `WEIR_PYTHON_PACKAGES`. Without it Python's own have to do.
pub fn python_packages() -> Option<PathBuf> {
    from_env("WEIR_PYTHON_PACKAGES")
}

/// The linters of the container files, which are packages of Python: `WEIR_PYTHON_LINTERS`.
pub fn python_linters() -> Option<PathBuf> {
    from_env("WEIR_PYTHON_LINTERS")
}

/// Go: `WEIR_GO`, else from `PATH`.
pub fn go() -> Result<PathBuf> {
    program("WEIR_GO", &["go"])
}

/// Bun: `WEIR_BUN`, else from `PATH`.
pub fn bun() -> Result<PathBuf> {
    program("WEIR_BUN", &["bun"])
}

/// The folder for screenshots, made when it is missing.
pub fn screenshots() -> Result<PathBuf> {
    let dir = workspace().join("screenshots");
    std::fs::create_dir_all(&dir).with_context(|| format!("make {}", dir.display()))?;
    Ok(dir)
}

/// What `wrangler.toml` says about the runtime: the tests run under the same.
#[derive(Debug, Clone, Deserialize)]
pub struct Compatibility {
    /// The date whose behaviour the Worker is built for.
    #[serde(rename = "compatibility_date")]
    pub date: String,
    /// Flags beside the date.
    #[serde(rename = "compatibility_flags", default)]
    pub flags: Vec<String>,
}

/// Reads the compatibility settings of `wrangler.toml`.
pub fn compatibility() -> Result<Compatibility> {
    let path = workspace().join("wrangler.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("parse {}", path.display()))
}

fn from_env(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

fn existing(path: PathBuf, remedy: &str) -> Result<PathBuf> {
    ensure!(path.is_file(), "{} is missing; {remedy}", path.display());
    Ok(path)
}

fn program(variable: &str, names: &[&str]) -> Result<PathBuf> {
    if let Some(path) = from_env(variable) {
        return existing(path, &format!("{variable} names it"));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|candidate| candidate.is_file())
        .with_context(|| format!("none of {names:?} is on PATH; install it or set {variable}"))
}
