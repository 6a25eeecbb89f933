//! Regions with branches: what the busiest object of each kind is asked, by the simulator.

use weir_shared::federation::branch::branches_for;
use weir_shared::limits::{BRANCH_CHILDREN_MAX, CONTACT_MS_MIN, CONTACT_MS_PER_HOLDER};
use weir_shared::wire::exchange::RuleBody;

use crate::formula::CALLS_PER_SEC_MAX;
use crate::simulator::setup::Setup;
use crate::simulator::{Report, run};

const WINDOW_MS: u64 = 10_000;
const WINDOWS: u64 = 3;

/// What is asked for beyond the limit, so that all of it is used.
const DEMAND: f64 = 1.1;

/// One size of a deployment.
struct Size {
    regions: usize,
    isolates_per_region: usize,
    tenants: usize,
    /// Checks a second in all.
    rate: u64,
}

impl Size {
    fn setup(&self, branches: u32) -> Setup {
        let demand = self.rate as f64 * WINDOW_MS as f64 / 1_000.0;
        let limit = ((demand / DEMAND) as u64).max(1);
        let size = (self.regions, self.isolates_per_region);
        let mut setup = Setup::measured(31, size, (limit, WINDOW_MS), WINDOWS);
        setup.branches = branches;
        setup.unchecked = true;
        if self.tenants == 0 {
            return setup.asks_everywhere(None, 1, demand);
        }
        setup = setup.shared_by(RuleBody::Pooled, &vec![1.0; self.tenants]);
        setup = setup.asks_everywhere(None, 1, demand);
        for asker in &mut setup.askers {
            asker.crowd = true;
        }
        setup
    }

    fn branches(&self) -> u32 {
        branches_for(self.isolates_per_region as u64, 0)
    }
}

/// Calls a second of an object: exchanges as they were counted, and the contacts of those below it that carry none.
fn calls(report: &Report, seconds: f64, objects: impl Iterator<Item = usize>, below: usize) -> f64 {
    let counts = objects.map(|object| report.truth.calls_of.get(&object).copied().unwrap_or(0));
    let exchanges = counts.max().unwrap_or(0) as f64 / seconds;
    let contact_ms = CONTACT_MS_MIN.max(CONTACT_MS_PER_HOLDER * below as u64);
    exchanges + below as f64 * 1_000.0 / contact_ms as f64
}

fn row(size: &Size, branches: u32) {
    let Size {
        regions,
        isolates_per_region: isolates,
        tenants,
        rate,
    } = size;
    eprintln!("{regions} x {isolates} isolates, {branches} branches, {tenants} tenants");
    let setup = size.setup(branches);
    let report = run(&setup);
    let used = report.used(&setup);
    let each = branches as usize;
    let children = BRANCH_CHILDREN_MAX as usize;
    let below = if each == 0 {
        *isolates
    } else {
        each.min(children)
    };
    let own = calls(&report, used.seconds, 0..*regions, below);
    // Of a few, the first also has all those below the region's own.
    let served = isolates.div_ceil(each.max(1)) + each.saturating_sub(children).min(children);
    let of_branches = *regions..regions * (1 + each);
    let branch = calls(&report, used.seconds, of_branches, served);
    let coordinator = used.coordinator_calls / used.seconds;
    let busiest = own
        .max(coordinator)
        .max(if each == 0 { 0.0 } else { branch });
    let waits = report.truth.waits.len() as f64 / used.checks;
    println!(
        "| {regions} | {} | {} | {rate} | {branches} | {own:.1} | {} | {coordinator:.1} | {:.3} | {waits:.4} | {} |",
        regions * isolates,
        if *tenants == 0 {
            "-".to_owned()
        } else {
            tenants.to_string()
        },
        if each == 0 {
            "-".to_owned()
        } else {
            format!("{branch:.1}")
        },
        used.utilization,
        if busiest > CALLS_PER_SEC_MAX {
            "yes"
        } else {
            "no"
        },
    );
}

/// The table.
pub fn print() {
    println!("### With branches\n");
    println!(
        "A region of more than 48 isolates has a branch for each 24: an object that holds a part of the region's units and \
         lends it on. One budget, demand of 1.1 of its limit, windows of 10 s; with tenants, they share it pooled, and ask \
         by Zipf's law. Calls a second of the busiest object of each kind, exchanges and contacts as above; what of the \
         checks waits.\n"
    );
    println!(
        "| regions | isolates | tenants | checks/s | branches a region | `Region` | branch | `Coordinator` | used of the \
         limit | waits | past {CALLS_PER_SEC_MAX} |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for isolates_per_region in [64, 128, 256, 1_024] {
        let size = Size {
            regions: 1,
            isolates_per_region,
            tenants: 0,
            rate: 10_000,
        };
        row(&size, 0);
        row(&size, size.branches());
    }
    for (regions, isolates_per_region, tenants, rate) in [
        (3, 128, 1_000, 10_000),
        (30, 334, 0, 100_000),
        (30, 334, 100_000, 100_000),
    ] {
        let size = Size {
            regions,
            isolates_per_region,
            tenants,
            rate,
        };
        row(&size, size.branches());
    }
}
