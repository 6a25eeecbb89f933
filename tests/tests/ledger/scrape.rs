//! Reads the text format of Prometheus.

use std::time::Duration;

use weir_shared::ordered::OrderedMap;

use weir_tests::client::Client;
use weir_tests::clock::now;

use crate::ledger::SETTLING;

/// A scrape: each sample under its series and labels, as written.
pub type Scrape = OrderedMap<String, u128>;

pub async fn scrape(client: &Client) -> Scrape {
    let reply = client.get("/metrics").await.unwrap();
    assert_eq!(reply.status, 200, "{}", reply.text());
    let kind = reply.header("content-type").unwrap_or_default().to_owned();
    assert!(kind.starts_with("text/plain; version=0.0.4"), "{kind}");
    let text = reply.text();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            // Counts are whole and exact; times are not looked at here.
            let seconds = || value.parse::<f64>().map(|value| value as u128);
            let value = value.parse().or_else(|_| seconds());
            (
                series.to_owned(),
                value.unwrap_or_else(|_| panic!("{line}")),
            )
        })
        .collect()
}

/// A scrape that has every counter of the one before: a ledger that is late is left out of one.
pub async fn scrape_after(client: &Client, before: &Scrape) -> Scrape {
    let begun = now();
    loop {
        let scrape = scrape(client).await;
        let is_there = |(name, _): (&String, &u128)| !is_counter(name) || scrape.contains_key(name);
        if before.iter().all(is_there) || begun.elapsed() > SETTLING {
            return scrape;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn is_counter(name: &str) -> bool {
    let series = name.split('{').next();
    series.is_some_and(|series| series.ends_with("_total"))
}

/// The sum of the samples of a series that have a label.
pub fn sum(scrape: &Scrape, series: &str, label: &str) -> u128 {
    let samples = scrape.iter();
    let chosen =
        samples.filter(|(name, _)| name.split('{').next() == Some(series) && name.contains(label));
    chosen.map(|(_, value)| *value).sum()
}

/// The first counter that fell.
pub fn fallen(before: &Scrape, after: &Scrape) -> Option<String> {
    let counters = before.iter().filter(|(name, _)| is_counter(name));
    counters
        .filter(|(name, value)| after.get(*name).is_none_or(|now| now < *value))
        .map(|(name, value)| format!("{name}: {value}, then {:?}", after.get(name)))
        .next()
}
