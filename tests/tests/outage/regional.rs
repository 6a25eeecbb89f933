//! `outage: regional_only`: each region goes on with slices that it was lent in advance.

use weir_tests::history::Operation;
use weir_tests::shares::{Shares, of, shares, silence};
use weir_tests::tempo::Tempo;
use weir_tests::witness::Fault;
use weir_tests::workerd::REGIONS;

use crate::outage::{
    KINDS, LIMIT, PAUSE, TENANTS, WINDOW, assert_capped, assert_healed, by_region, during, start,
    through_an_outage,
};

#[tokio::test(flavor = "multi_thread")]
async fn regions_go_on_over_the_rolls_of_an_outage() {
    let stage = start("regional_only").await;
    let run = through_an_outage(&stage, Fault::Refuse).await;
    for (name, _, _) in KINDS {
        assert_capped(name, &run);
        // The window in which it went is not judged.
        let gone = during(&run, name);
        let windows = by_region(&gone);
        let was = run.of(name).into_iter();
        let was = was.filter(|operation| operation.received <= run.gone);
        let was = was.filter_map(|operation| operation.window()).max();
        println!("{name}: during the outage {windows:?}, {:?}", shares(&gone));
        let rolled = windows
            .into_iter()
            .filter(|(window, _)| Some(*window) > was);
        let rolled: Vec<_> = rolled.take(3).collect();
        assert!(rolled.len() == 3, "{name}: {rolled:?}");
        for (window, regions) in rolled {
            for region in REGIONS {
                let admitted = regions.get(region).copied().unwrap_or(0);
                assert!(
                    admitted > 0,
                    "{name}: {region} admitted nothing in window {window}: {regions:?}"
                );
            }
            let all: u64 = regions.values().sum();
            // Half of each window is lent in advance.
            assert!(
                all * 100 >= LIMIT * 40,
                "{name}: {all} of {LIMIT} in window {window}: {regions:?}"
            );
            let missed = not_asked_for(&gone, window, run.tempo);
            let heavy = of(&gone, TENANTS[1]).filter(|one| one.window() == Some(window));
            let asked = heavy.map(|operation| operation.cost).sum();
            assert_weighed(name, &shares(&gone)[&window], asked, missed);
        }
        assert_healed(name, &run);
    }
}

/// A region shares its slice as the budget is shared: three to one as far as the heavy one asks for that much, give or take a
/// unit for each of them, and but for what the other got while the heavy one did not ask.
#[track_caller]
fn assert_weighed(name: &str, shares: &Shares, asked: u64, not_asked_for: u64) {
    let [light, heavy] = TENANTS.map(|tenant| shares.get(tenant).copied().unwrap_or(0));
    // A unit that changes hands counts once for the heavy tenant and three times for the light one.
    assert!(
        name == "first" || heavy + 6 + 4 * not_asked_for >= asked.min(3 * light),
        "{name}: {shares:?}, the heavy one asked for {asked}, not for {not_asked_for}"
    );
}

/// The part of the regions' slices that fell due while the heavy tenant sent nothing there: a busy machine leaves a load
/// without its turn, and what nobody asks for at its time is lent.
fn not_asked_for(operations: &[Operation], window: u64, tempo: Tempo) -> u64 {
    let [pause, length] = [PAUSE, WINDOW].map(|time| tempo.stretched(time));
    let slice = LIMIT / 2 / REGIONS.len() as u64;
    let of_region = |region: &str| {
        let there = operations.iter().filter(|operation| {
            let decision = operation.decision();
            decision.is_some_and(|it| it.window == Some(window) && it.region == region)
        });
        let silent = silence(there, TENANTS[1], 2 * pause);
        u64::try_from(u128::from(slice) * silent.as_millis() / length.as_millis()).unwrap()
    };
    REGIONS.into_iter().map(of_region).sum()
}
