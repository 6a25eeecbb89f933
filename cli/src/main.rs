//! The command `weir`.

use std::process::ExitCode;

fn main() -> ExitCode {
    weir_cli::run::main()
}
