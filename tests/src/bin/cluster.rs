//! Three workerds over one bucket, under load, while the one that owns the coordinators is killed (`cargo xtask cluster`).
//!
//! `cluster [--workerd PROGRAM] --s3 PROGRAM` prints what it saw. It fails when a window admitted more than its limit in the sum
//! of all three, when the budget that is to go on without its coordinator did not, or when the other admitted nothing again in
//! time. A survivor that crashes is told, and is no failure of Weir's: it is started again, as Compose and Kubernetes do it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use lexopt::prelude::*;
use serde_json::{Value, json};
use weir_tests::checker::{Violation, admitted_by_window, most_within, violations};
use weir_tests::client::Client;
use weir_tests::cluster::{Bucket, Cluster};
use weir_tests::fixtures::{policy, with};
use weir_tests::history::{Operation, Outcome};
use weir_tests::paths;
use weir_tests::workerd::REGIONS;
use weir_tests::workload::{Target, Workload};

const HELP: &str = "usage: cluster [--workerd PROGRAM] --s3 PROGRAM";

const LIMIT: u64 = 200;
const WINDOW: Duration = Duration::from_secs(3);

/// The budgets under load: one fails closed without its coordinator, in the other regions go on.
const CLOSED: &str = "closed";
const REGIONAL: &str = "regional";

/// More budgets than regions, by which their coordinators are known in the bucket.
const SPARE: usize = 7;

const POLICY_DEADLINE: Duration = Duration::from_secs(20);

/// Windows before the kill: the rules are settled, and what is lent in advance is there.
const BEFORE: Duration = Duration::from_secs(15);
/// After it: the lease of who died lapses after 20 s; then there are windows to judge.
const AFTER: Duration = Duration::from_secs(60);

/// Within this of the kill the coordinators have another owner, and admit again.
const RECOVERY_MAX: Duration = Duration::from_secs(30);

/// Three windows, for which regions go on.
const STANDING: Duration = Duration::from_secs(9);

const POLL: Duration = Duration::from_millis(100);

struct Options {
    workerd: PathBuf,
    s3: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    let ended = match options(lexopt::Parser::from_env()) {
        Ok(Some(options)) => run(&options).await,
        Ok(None) => {
            println!("{HELP}");
            Ok(())
        }
        Err(error) => Err(error),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn options(mut parser: lexopt::Parser) -> Result<Option<Options>> {
    let (mut workerd, mut s3) = (None, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("workerd") => workerd = Some(parser.value()?.into()),
            Long("s3") => s3 = Some(parser.value()?.into()),
            Long("help") | Short('h') => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(Some(Options {
        workerd: workerd.map_or_else(paths::workerd, Ok)?,
        s3: s3.context(HELP)?,
    }))
}

fn document() -> Value {
    let window_ms = WINDOW.as_millis() as u64;
    let budget = |limit: u64, outage: &str| json!({ "limit": limit, "window_ms": window_ms, "sharing": "first_come", "scope": "global", "outage": outage });
    let mut budgets = serde_json::Map::new();
    budgets.insert(CLOSED.to_owned(), budget(LIMIT, "fail_closed"));
    budgets.insert(REGIONAL.to_owned(), budget(LIMIT, "regional_only"));
    for number in 0..SPARE {
        budgets.insert(format!("spare_{number}"), budget(LIMIT, "fail_closed"));
    }
    with(policy(1, 60_000), "/budgets", Value::Object(budgets))
}

/// The tenant whose checks are on a budget: by it the two are told apart in the history.
fn tenant(budget: &str) -> String {
    format!("pro:{budget}")
}

async fn run(options: &Options) -> Result<()> {
    let bucket = Bucket::start(&options.s3).await?;
    let mut cluster = Cluster::start(&options.workerd, bucket, REGIONS.len()).await?;
    let mut clients = Vec::new();
    for (index, region) in REGIONS.iter().enumerate() {
        clients.push(cluster.client(index)?.in_region(region));
    }
    settle(&clients).await?;
    let owner = owner(&cluster).await?;
    let running = Workload::start_all(vec![load(&clients, CLOSED), load(&clients, REGIONAL)]);
    tokio::time::sleep(BEFORE).await;
    cluster.supervise()?;
    ensure!(
        cluster.ends().is_empty(),
        "an instance ended before any was killed: {:?}",
        cluster.faults()
    );
    let killed = cluster.kill(owner)?;
    let kill = running.elapsed();
    let mut moved = None;
    while killed.elapsed() < AFTER {
        cluster.supervise()?;
        if moved.is_none() && has_moved(&cluster, owner).await {
            moved = Some(killed.elapsed());
        }
        tokio::time::sleep(POLL).await;
    }
    let operations = running.stop().await?;
    let seen = Seen {
        operations,
        kill,
        owner,
        moved,
    };
    seen.tell(&cluster);
    cluster.stop();
    seen.judge()
}

/// Each instance is asked first in a region of its own, so that it owns the region; the first one is asked first for budgets,
/// so that it owns their coordinators.
async fn settle(clients: &[Client]) -> Result<()> {
    for client in clients {
        client.check_budget("pro:first", "tokens", 0).await?;
    }
    let first = clients.first().context("there is no client")?;
    let document = document();
    let saved = first.save_policy(&document).await?;
    first
        .await_revision(saved.revision()?, POLICY_DEADLINE)
        .await?;
    let budgets = document["budgets"].as_object().context("no budgets")?;
    for budget in budgets.keys() {
        first.check_budget(&tenant(budget), budget, 1).await?;
    }
    for client in clients {
        client
            .await_revision(saved.revision()?, POLICY_DEADLINE)
            .await?;
    }
    Ok(())
}

/// The number of the instance that owns all coordinators.
async fn owner(cluster: &Cluster) -> Result<usize> {
    let coordinators = cluster.bucket().coordinators().await?;
    ensure!(
        coordinators.len() > SPARE,
        "only {} coordinators: {coordinators:?}",
        coordinators.len()
    );
    let mut numbers = coordinators.values().map(|owner| cluster.number(owner));
    let first = numbers
        .next()
        .flatten()
        .context("nobody owns a coordinator")?;
    match numbers.all(|number| number == Some(first)) {
        true => Ok(first),
        false => bail!("the coordinators are spread over the instances: {coordinators:?}"),
    }
}

/// Whether a coordinator has another owner than the instance that was killed.
async fn has_moved(cluster: &Cluster, killed: usize) -> bool {
    let coordinators = cluster.bucket().coordinators().await.unwrap_or_default();
    let mut numbers = coordinators
        .values()
        .filter_map(|owner| cluster.number(owner));
    numbers.any(|number| number != killed)
}

/// Two workers of each client, more than the limit together.
fn load(clients: &[Client], budget: &str) -> Workload {
    Workload {
        tenants: vec![tenant(budget)],
        workers: 2,
        target: Target::Budget(budget.to_owned()),
        ..Workload::new(clients.to_vec(), budget)
    }
}

/// What came of it.
struct Seen {
    operations: Vec<Operation>,
    /// When the owner was killed, as the operations count time.
    kill: Duration,
    owner: usize,
    /// After how long a coordinator had another owner.
    moved: Option<Duration>,
}

impl Seen {
    fn of(&self, budget: &str) -> Vec<Operation> {
        let tenant = tenant(budget);
        let mut own = self.operations.clone();
        own.retain(|operation| operation.tenant == tenant);
        own
    }

    /// Units that survivors admitted of a budget after its window of the kill, while regions go on.
    fn without_coordinator(&self, budget: &str) -> u64 {
        let time = self.kill + WINDOW..self.kill + STANDING;
        let own = self.of(budget).into_iter();
        let own = own
            .filter(|operation| time.contains(&operation.sent) && operation.client != self.owner);
        own.map(|operation| operation.admitted()).sum()
    }

    /// After how long the budget that fails closed admitted again: what was lent of the window of the kill is spent before.
    fn recovered(&self) -> Option<Duration> {
        let from = self.kill + WINDOW + WINDOW;
        let own = self.of(CLOSED).into_iter();
        let again = own.filter(|operation| operation.admitted() > 0 && operation.sent > from);
        again.map(|operation| operation.received - self.kill).min()
    }

    fn tell(&self, cluster: &Cluster) {
        let seconds = |time: Option<Duration>| match time {
            Some(time) => format!("{:.1} s", time.as_secs_f64()),
            None => "never".to_owned(),
        };
        for budget in [CLOSED, REGIONAL] {
            let own = self.of(budget);
            let windows = admitted_by_window(&own);
            let most = windows.values().max().copied().unwrap_or_default();
            let above = windows.values().filter(|units| **units > LIMIT).count();
            let lost = own
                .iter()
                .filter(|one| matches!(one.outcome, Outcome::Lost(_)))
                .count();
            let refused = own
                .iter()
                .filter(|one| matches!(one.outcome, Outcome::Refused { .. }))
                .count();
            println!(
                "budget {budget}: {} answers, of them {refused} without a decision; {lost} requests lost",
                own.len() - lost
            );
            println!(
                "  windows above {LIMIT} units: {above} of {}, the most is {most}",
                windows.len()
            );
            println!(
                "  most within any {} s: {} (the bound is {})",
                WINDOW.as_secs(),
                most_within(&own, WINDOW).1,
                2 * LIMIT
            );
            println!(
                "  units of survivors between {} and {} s after the kill: {}",
                WINDOW.as_secs(),
                STANDING.as_secs(),
                self.without_coordinator(budget)
            );
            println!("  admitted by window: {windows:?}");
        }
        println!("killed: instance {}", self.owner);
        println!(
            "a coordinator had another owner after {}",
            seconds(self.moved)
        );
        println!(
            "the first unit was admitted again after {}",
            seconds(self.recovered())
        );
        let crashes = cluster.ends().iter().filter(|end| !end.on_purpose);
        for end in crashes {
            println!("instance {} crashed, and was started again", end.instance);
        }
        for fault in cluster.faults() {
            println!("  {fault}");
        }
    }

    fn judge(&self) -> Result<()> {
        for budget in [CLOSED, REGIONAL] {
            let mut broken = violations(&self.of(budget), LIMIT, WINDOW);
            // An instance that is new and hears of no policy answers that it does not know the budget. It admits nothing.
            broken.retain(|violation| !matches!(violation, Violation::NotADecision { .. }));
            ensure!(broken.is_empty(), "budget {budget}: {broken:?}");
        }
        ensure!(
            self.without_coordinator(REGIONAL) > 0,
            "no survivor admitted a unit of {REGIONAL} without its coordinator"
        );
        let recovered = self.recovered();
        ensure!(
            recovered.is_some_and(|time| time <= RECOVERY_MAX),
            "the first unit of {CLOSED} was admitted after {recovered:?}, not within {RECOVERY_MAX:?}"
        );
        Ok(())
    }
}
