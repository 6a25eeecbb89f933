//! From the console's sources to its code: one module of WebAssembly for the first page, one for each part that comes
//! later, and one script that loads them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::build::rewrite;
use crate::environment::Environment;
use crate::paths::names_in;
use crate::rust::WASM_TARGET;
use crate::{process, rust};

/// The program, and what the files of its code are called before they are named by their content.
const NAME: &str = "weir-console";

/// What the linker tells of where a function is named: by this the code is cut.
const RELOCATIONS: &str = "link-args=--emit-relocs";

/// Keeps functions apart that the compiler would copy into their callers even where it makes code small: alike functions
/// pack to 1 % less than copies of them that each differ a little.
const NOT_INLINED: &str = "llvm-args=-inline-threshold=-50";

/// Starts the program. The parts load by the script beside it.
const ENTRY: &str = r#"import init from "./weir-console.js";
init();
"#;

/// Fills `made` with the script and the modules. `scratch` is for what is between.
pub(super) fn make(
    environment: &Environment,
    source: &Path,
    scratch: &Path,
    made: &Path,
) -> Result<()> {
    let whole = compile(environment, source)?;
    let cut = scratch.join("cut");
    cut_up(environment, &whole, &cut)?;
    bind(environment, &cut)?;
    fs::create_dir_all(made).with_context(|| format!("creating {}", made.display()))?;
    for name in names_in(&cut)? {
        if name.ends_with(".wasm") {
            shrink(environment, &cut.join(&name), &made.join(&name))?;
        }
    }
    let entry = cut.join("entry.js");
    fs::write(&entry, ENTRY).with_context(|| format!("writing {}", entry.display()))?;
    bundle(environment, &entry, &made.join(format!("{NAME}.js")))
}

/// The program in one whole, with what is needed to cut it.
fn compile(environment: &Environment, source: &Path) -> Result<PathBuf> {
    let mut cargo = environment.command("cargo")?;
    cargo.current_dir(source);
    cargo.args(["rustc", "--release", "--target", WASM_TARGET]);
    cargo.args(["--bin", NAME, "--features", "split"]);
    cargo.args(["--message-format", "json-render-diagnostics"]);
    cargo.args(["--", "-C", RELOCATIONS, "-C", NOT_INLINED]);
    rust::executable(&process::capture(&mut cargo)?, NAME)
}

/// Cuts the code where a function says that it is of a part: the modules, and the script that loads the later ones.
fn cut_up(environment: &Environment, whole: &Path, cut: &Path) -> Result<()> {
    let mut split = environment.command("wasm-split-cli")?;
    split.args(["--out-name", NAME]).arg(whole).arg(cut);
    process::run(&mut split)
}

/// Makes the script by which the first module and the browser know each other. The module keeps what the others name.
fn bind(environment: &Environment, cut: &Path) -> Result<()> {
    let first = cut.join(format!("{NAME}.wasm"));
    let mut bindgen = environment.command("wasm-bindgen")?;
    bindgen.args(["--target", "web", "--no-typescript"]);
    bindgen.args(["--keep-lld-exports", "--no-demangle"]);
    bindgen.args(["--out-name", NAME, "--out-dir"]);
    bindgen.arg(cut).arg(&first);
    process::run(&mut bindgen)?;
    fs::remove_file(&first).with_context(|| format!("removing {}", first.display()))
}

/// The module as browsers get it, to be packed by brotli: values that are needed twice are worked out twice, which packs
/// better than a local for each, and functions of one name, which are much alike, stand beside each other.
fn shrink(environment: &Environment, module: &Path, made: &Path) -> Result<()> {
    let passes = [
        "-Oz",
        "--low-memory-unused",
        "--skip-pass=local-cse",
        "--reorder-functions-by-name",
    ];
    rewrite(environment, &passes, module, made)
}

/// One script of all that the entry imports.
fn bundle(environment: &Environment, entry: &Path, made: &Path) -> Result<()> {
    let mut esbuild = environment.command("esbuild")?;
    esbuild.args(["--bundle", "--format=esm", "--minify", "--log-level=error"]);
    esbuild.arg(format!("--outfile={}", made.display()));
    esbuild.arg(entry);
    process::run(&mut esbuild)
}

/// Rewrites a text in fewer characters.
pub(super) fn shorten(environment: &Environment, file: &Path) -> Result<()> {
    let mut esbuild = environment.command("esbuild")?;
    esbuild.args(["--minify", "--log-level=warning", "--allow-overwrite"]);
    esbuild.arg(format!("--outfile={}", file.display()));
    esbuild.arg(file);
    process::run(&mut esbuild)
}
