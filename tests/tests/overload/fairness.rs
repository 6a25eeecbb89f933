//! An origin of a known capacity, one tenant that floods it and five that do not: who gets through.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weir_tests::client::Client;
use weir_tests::clock::now;
use weir_tests::workerd::Setup;

use weir_shared::ordered::OrderedMap;

use super::{check, report, start};

/// Requests a second that the origin serves.
const CAPACITY: f64 = 20.0;

/// Tenants that ask for [`QUIET_RATE`] requests a second, each: 10 together.
const QUIET: usize = 5;
const QUIET_RATE: f64 = 2.0;

/// Requests a second of the one that floods: three times what the origin serves.
const NOISY_RATE: f64 = 60.0;

/// When the flood begins: until then nothing fails.
const CALM: Duration = Duration::from_secs(5);

/// From when on is counted: the fair rate has been found by then, also by who hears of failures late.
const FOUND: Duration = Duration::from_secs(35);

/// When it ends; on a machine that was late for too many requests to judge by, when there are enough, or at last.
const END: Duration = Duration::from_secs(55);
const LONGEST: Duration = Duration::from_secs(120);

/// Requests of the quiet tenants, and of the one that floods, that are enough to judge by.
const QUIET_MIN: u32 = 120;
const NOISY_MIN: u32 = 600;

/// A request that is sent or decided later than this is not counted: after a pause of the machine requests come in a burst.
const LATE: Duration = Duration::from_millis(250);

/// A token bucket of half a second of capacity: beyond it the origin refuses.
struct Origin {
    left: f64,
    at: Instant,
}

impl Origin {
    fn serve(&mut self) -> bool {
        let at = now();
        let filled = self.left + at.duration_since(self.at).as_secs_f64() * CAPACITY;
        self.at = at;
        self.left = filled.min(CAPACITY / 2.0);
        let served = self.left >= 1.0;
        if served {
            self.left -= 1.0;
        }
        served
    }
}

/// What became of a tenant's requests: asked, and served.
type Books = Arc<Mutex<OrderedMap<String, (u32, u32)>>>;

async fn one(client: Client, tenant: String, origin: Arc<Mutex<Origin>>, books: Option<Books>) {
    let asked_at = now();
    let allowed = check(&client, &tenant).await.allowed;
    let is_late = asked_at.elapsed() > LATE;
    let served = allowed && origin.lock().unwrap().serve();
    if allowed {
        report(&client, &tenant, if served { "success" } else { "failure" }).await;
    }
    if let Some(books) = books.filter(|_| !is_late) {
        let mut books = books.lock().unwrap();
        let entry = books.entry(tenant).or_default();
        *entry = (entry.0 + 1, entry.1 + u32::from(served));
    }
}

/// One tenant's requests.
struct Load {
    tenant: String,
    rate: f64,
    begins: Duration,
    counted_from: Duration,
}

fn goes_on(elapsed: Duration, books: &Books) -> bool {
    elapsed < END || (elapsed < LONGEST && !are_enough(&books.lock().unwrap()))
}

fn are_enough(books: &OrderedMap<String, (u32, u32)>) -> bool {
    let (quiet, _) = of_quiet(books);
    let noisy = books.get("noisy").is_some_and(|one| one.0 >= NOISY_MIN);
    quiet >= QUIET_MIN && noisy
}

/// What became of the quiet tenants' requests.
fn of_quiet(books: &OrderedMap<String, (u32, u32)>) -> (u32, u32) {
    let quiet = books
        .iter()
        .filter(|(tenant, _)| tenant.starts_with("quiet"));
    quiet.fold((0, 0), |sum, (_, one)| (sum.0 + one.0, sum.1 + one.1))
}

/// Requests of a tenant at a steady rate, whatever becomes of them.
async fn load(clients: Vec<Client>, load: Load, origin: Arc<Mutex<Origin>>, books: Books) {
    tokio::time::sleep(load.begins).await;
    let start = now();
    let mut running = Vec::new();
    let mut sent = 0_u32;
    while goes_on(start.elapsed() + load.begins, &books) {
        // As many as are due: a late timer changes no rate.
        while f64::from(sent) < start.elapsed().as_secs_f64() * load.rate {
            let due = Duration::from_secs_f64(f64::from(sent) / load.rate);
            let counted = start.elapsed() + load.begins >= load.counted_from
                && start.elapsed().saturating_sub(due) < LATE;
            let client = clients[sent as usize % clients.len()].clone();
            let books = counted.then(|| Arc::clone(&books));
            let request = one(client, load.tenant.clone(), Arc::clone(&origin), books);
            running.push(tokio::spawn(request));
            sent += 1;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for request in running {
        request.await.unwrap();
    }
}

async fn flooded(setup: Setup) -> OrderedMap<String, (u32, u32)> {
    let workerd = start(setup).await;
    let clients = workerd.clients().unwrap();
    let origin = Arc::new(Mutex::new(Origin {
        left: CAPACITY / 2.0,
        at: now(),
    }));
    let books = Books::default();
    let quiet = (0..QUIET).map(|index| Load {
        tenant: format!("quiet{index}"),
        rate: QUIET_RATE,
        begins: Duration::ZERO,
        counted_from: FOUND,
    });
    let noisy = Load {
        tenant: "noisy".to_owned(),
        rate: NOISY_RATE,
        begins: CALM,
        counted_from: FOUND,
    };
    let loads = quiet.chain([noisy]).map(|one| {
        let load = load(
            clients.clone(),
            one,
            Arc::clone(&origin),
            Arc::clone(&books),
        );
        tokio::spawn(load)
    });
    for load in loads.collect::<Vec<_>>() {
        load.await.unwrap();
    }
    let books = books.lock().unwrap();
    books.clone()
}

fn held(books: &OrderedMap<String, (u32, u32)>) {
    let (asked, served) = of_quiet(books);
    assert!(
        asked >= QUIET_MIN,
        "{asked} requests of the quiet tenants: {books:?}"
    );
    let success = f64::from(served) / f64::from(asked);
    // Without a limiter it is two of seven. While the rate feels for what the origin serves, the origin refuses some of
    // everybody's.
    assert!(
        success >= 0.85,
        "{success:.3} of the quiet tenants' requests: {books:?}"
    );
    // Without a limiter the flood would take six of seven that are served.
    let (asked, served) = books["noisy"];
    let rest = NOISY_RATE * f64::from(served) / f64::from(asked);
    assert!(asked >= NOISY_MIN, "the flood goes on: {books:?}");
    assert!(
        (1.0..=CAPACITY / 2.0 + 3.0).contains(&rest),
        "{rest:.1} a second are left for the other: {books:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_that_was_noticed_costs_the_others_little() {
    held(&flooded(Setup::isolates(&["weur"])).await);
}

/// The flood comes through two isolates of one region and one of another.
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_through_several_isolates_and_regions_costs_the_others_little() {
    held(&flooded(Setup::isolates(&["weur", "weur", "apac"])).await);
}
