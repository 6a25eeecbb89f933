//! Whether wrangler accepts the deployment.

use anyhow::Result;

use super::workbench::Workbench;
use crate::environment::Environment;
use crate::{paths, wrangler};

pub(super) fn dry_run(bench: &mut Workbench<'_>, environment: &Environment) -> Result<()> {
    // The first environment is that without a name.
    for name in ["", "staging"] {
        let mut wrangler = wrangler::command(environment)?;
        wrangler.args(["deploy", "--dry-run", "--env", name, "--outdir"]);
        wrangler.arg(paths::local("deploy"));
        bench.compile(wrangler)?;
    }
    Ok(())
}
