//! One socket carries what every region tells: a region that is lost is told, and the others go on over the same socket.

use std::time::Duration;

use weir_tests::browser::{Browser, test_id_selector};
use weir_tests::proxy::Proxy;
use weir_tests::within::until;
use weir_tests::witness::{Fault, Witness};
use weir_tests::workerd::{REGIONS, TOKEN};

use crate::console::site::{Site, everything};
use crate::console::smoothness::row;
use crate::console::traffic::Traffic;
use crate::console::{await_live, eventually, log_in, shown, visit};

const LIVE: &str = "/operator/v1/live";

/// The region that is lost, and its ledger.
const LOST: &str = "apac";
const LEDGER: &str = "apac.g1";

/// A ledger that ends closes its socket, which is told at once.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// One that falls silent is asked after 15 s, and has 5 s to answer; the rest is for a busy machine.
const SILENCE_TOLD_WITHIN: Duration = Duration::from_secs(23);

/// Waits until the live channel says so beside its state, or nothing: when it was looked at for that. That page and server are
/// slow to answer excuses as much as both took meanwhile.
async fn await_detail(site: &Site, browser: &Browser, words: &str, within: Duration) -> Duration {
    let script = "return document.querySelector('[data-testid=live-detail]')?.textContent ?? ''";
    until(within, async || {
        let said = browser.evaluate(script, vec![]).await.unwrap();
        // An isolate answers this by itself.
        let _answer = site.client.get("/healthz").await;
        said == words
    })
    .await
}

/// Neither the next sockets nor what is said over those that are open reaches the region's ledger.
async fn cut_off(witness: &Witness) {
    for (call, kind) in [("live", Fault::Refuse), ("message", Fault::Stall)] {
        let call = format!("Ledger/{call} {LOST}");
        witness
            .fault(&call, kind, u64::from(u32::MAX))
            .await
            .unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_region_that_is_lost_is_told_in_time_and_the_rest_stays_live_over_the_same_socket() {
    let (site, witness) = Site::witnessed(&everything()).await;
    let proxy = Proxy::start(site.origin()).await.expect("the proxy starts");
    let traffic = Traffic::of_all_tiers(&site.client);
    let browser = Browser::start().await.expect("the browser starts");
    log_in(&browser, &proxy.origin(), TOKEN).await;
    visit(
        &browser,
        &proxy.origin(),
        "/tenants?sort=denied_calls",
        "tenants",
    )
    .await;
    await_live(&browser, "live").await;
    let part = format!("{} of {} regions", REGIONS.len() - 1, REGIONS.len());
    let sockets = proxy.seen(LIVE);

    cut_off(&witness).await;
    witness.abort("LEDGER", LEDGER).await.unwrap();
    let told = await_detail(&site, &browser, &part, TOLD_WITHIN).await;
    println!("a region that dies is told after {told:?}");
    let busy = format!("{} {}", row("free:flood"), test_id_selector("denied-calls"));
    let before = eventually("a figure", async || shown(&browser, &busy).await).await;
    eventually("a figure that moves", async || {
        shown(&browser, &busy).await.filter(|now| *now > before)
    })
    .await;
    await_live(&browser, "live").await;
    witness.calm().await.unwrap();
    // The pause between two attempts grows.
    let back = await_detail(&site, &browser, "", Duration::from_secs(20)).await;
    println!("it is back after {back:?}");

    drop(traffic);
    // What regions still report of it would begin the silence anew.
    tokio::time::sleep(Duration::from_secs(12)).await;
    cut_off(&witness).await;
    let silent = await_detail(&site, &browser, &part, SILENCE_TOLD_WITHIN).await;
    println!("a region that falls silent is told after {silent:?}");
    await_live(&browser, "live").await;
    witness.calm().await.unwrap();
    await_detail(&site, &browser, "", Duration::from_secs(20)).await;
    assert_eq!(proxy.seen(LIVE), sockets, "another socket was opened");
}
