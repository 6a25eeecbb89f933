//! Validates the policy that a deployment ships, so that a build with a policy that would be refused fails and
//! names the field.

use std::path::Path;
use std::process::ExitCode;

use weir_shared::invalid::{Invalid, read_json};
use weir_shared::policy::Policy;
use weir_shared::policy::doors::permit_origins;
use weir_shared::wire::policy::PolicyDocument;

fn main() -> ExitCode {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy.json");
    println!("cargo::rerun-if-changed={}", path.display());
    println!("cargo::rerun-if-changed=build.rs");
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) => {
            println!("cargo::error=policy.json cannot be read: {error}");
            return ExitCode::FAILURE;
        }
    };
    match validate(&bytes) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refused) => {
            println!("cargo::error=policy.json is refused at {refused}");
            ExitCode::FAILURE
        }
    }
}

fn validate(bytes: &[u8]) -> Result<(), Invalid> {
    let document: PolicyDocument = read_json(bytes)?;
    permit_origins(&Policy::try_from(&document)?)
}
