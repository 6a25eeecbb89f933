//! The program `weir-agent`.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_agent::run::main()
}
