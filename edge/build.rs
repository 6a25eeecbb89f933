//! Validates the policy that a deployment ships, so that a build with a policy that would be refused fails and
//! names the field.

use std::process::ExitCode;

use weir_core::invalid::{Invalid, read_json};
use weir_policy::Policy;
use weir_policy::doors::permit_origins;
use weir_wire::policy::PolicyDocument;

/// From the folder of this package, in which cargo runs this: another clone's build is of use as long as no path is in it.
const POLICY: &str = "../policy.json";

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed={POLICY}");
    println!("cargo::rerun-if-changed=build.rs");
    let bytes = match std::fs::read(POLICY) {
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
