//! What the deployment costs a month at the present rate, by prices that the operator may change.

use std::collections::VecDeque;

use form_urlencoded::{Serializer, parse};
use weir_shared::wire::operator::costs::CostsReply;

/// A month, in seconds: 30 days.
const MONTH_S: f64 = 30.0 * 86_400.0;

/// A rate is taken over at least so long.
const LEAST_MS: u64 = 10_000;

/// A rate is taken over at most so long.
const MOST_MS: u64 = 300_000;

/// What is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// Requests that the Worker answers: at most one a decision.
    Request,
    /// Calls of objects.
    ObjectCall,
    /// Rows that objects write.
    RowWritten,
}

impl Item {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Request, Self::ObjectCall, Self::RowWritten];

    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "Decisions, as requests",
            Self::ObjectCall => "Object calls",
            Self::RowWritten => "Rows written",
        }
    }

    /// Its name where prices are kept.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::ObjectCall => "object-call",
            Self::RowWritten => "row-written",
        }
    }
}

/// Dollars for a million of each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices([f64; 3]);

impl Default for Prices {
    /// The list prices of the platform's paid plan, beyond what is included.
    fn default() -> Self {
        Self([0.30, 0.15, 1.00])
    }
}

impl Prices {
    /// Dollars for a million.
    pub fn of(self, item: Item) -> f64 {
        self.0[item as usize]
    }

    /// With another price.
    #[must_use]
    pub fn with(mut self, item: Item, dollars: f64) -> Self {
        self.0[item as usize] = dollars;
        self
    }

    /// Reads what was kept; what makes no sense is as by default.
    pub fn parse(text: &str) -> Self {
        let mut prices = Self::default();
        for (name, value) in parse(text.as_bytes()) {
            let item = Item::ALL.into_iter().find(|item| item.slug() == name);
            if let (Some(item), Some(dollars)) = (item, price(&value)) {
                prices = prices.with(item, dollars);
            }
        }
        prices
    }

    /// What is kept of it.
    pub fn text(self) -> String {
        let mut pairs = Serializer::new(String::new());
        for item in Item::ALL {
            pairs.append_pair(item.slug(), &self.of(item).to_string());
        }
        pairs.finish()
    }
}

/// A price as it is typed; none for what is no price.
///
/// ```
/// use weir_console::features::overview::model::money::price;
/// assert_eq!((price(" 0.15 "), price("$2"), price("-1"), price("much")), (Some(0.15), Some(2.0), None, None));
/// ```
pub fn price(text: &str) -> Option<f64> {
    let dollars: f64 = text.trim().trim_start_matches('$').parse().ok()?;
    (0.0..=1e6).contains(&dollars).then_some(dollars)
}

/// An amount of dollars: cents below a thousand, whole dollars from there on.
pub fn dollars(amount: f64) -> String {
    if amount < 1_000.0 {
        format!("${amount:.2}")
    } else {
        format!("${}", crate::format::count(amount.round() as u128))
    }
}

/// How much of each there is a second.
pub type PerS = [f64; 3];

/// One kind of cost.
#[derive(Debug, Clone, PartialEq)]
pub struct MoneyRow {
    /// What.
    pub item: Item,
    /// How much of it there is a month.
    pub a_month: f64,
    /// What that costs.
    pub dollars: f64,
    /// Its part of all.
    pub share: f64,
}

/// What each comes to a month.
pub fn rows(per_s: PerS, prices: Prices) -> Vec<MoneyRow> {
    let cost = |item: Item| per_s[item as usize] * MONTH_S * prices.of(item) / 1e6;
    let all: f64 = Item::ALL.into_iter().map(cost).sum();
    let row = |item: Item| MoneyRow {
        item,
        a_month: per_s[item as usize] * MONTH_S,
        dollars: cost(item),
        share: if all > 0.0 { cost(item) / all } else { 0.0 },
    };
    Item::ALL.map(row).into_iter().collect()
}

/// What it comes to, in a sentence: how much a month, and what drives it.
pub fn words(rows: &[MoneyRow]) -> String {
    let all: f64 = rows.iter().map(|row| row.dollars).sum();
    let most = rows
        .iter()
        .max_by(|one, other| one.dollars.total_cmp(&other.dollars));
    match most.filter(|_| all > 0.0) {
        Some(most) => format!(
            "{} a month at the present rate. Most of it: {}, {}.",
            dollars(all),
            most.item.name().to_lowercase(),
            crate::format::percent(most.share)
        ),
        None => "Nothing is charged at the present rate.".to_owned(),
    }
}

/// The rate, from readings of what was counted in all.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    readings: VecDeque<(u64, [u128; 3], Vec<String>)>,
}

impl Meter {
    /// Takes a reading: how much there is a second of each, once that is known. A region that came or went begins anew.
    pub fn read(&mut self, reply: &CostsReply) -> Option<PerS> {
        let counted = [
            reply.decisions.0,
            reply.usage.object_calls().0,
            reply.usage.rows_written.0,
        ];
        let reached = reply.regions.iter().filter(|region| region.reachable);
        let regions: Vec<String> = reached.map(|region| region.region.clone()).collect();
        self.readings.retain(|(at, before, of)| {
            let fell = before
                .iter()
                .zip(&counted)
                .any(|(before, now)| before > now);
            *at < reply.at && reply.at - at <= MOST_MS && *of == regions && !fell
        });
        let first = self.readings.front().cloned();
        self.readings.push_back((reply.at, counted, regions));
        let (at, before, _) = first?;
        let over_ms = reply.at - at;
        (over_ms >= LEAST_MS).then(|| {
            let mut per_s = [0.0; 3];
            for (place, slot) in per_s.iter_mut().enumerate() {
                *slot = (counted[place] - before[place]) as f64 * 1_000.0 / over_ms as f64;
            }
            per_s
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn reply(at: u64, counted: [u64; 3], region: &str) -> CostsReply {
        serde_json::from_value(json!({
            "at": at, "decisions": counted[0], "per_million": null,
            "usage": {"region_calls": counted[1], "rows_written": counted[2]},
            "regions": [{"region": region, "reachable": true, "decisions": 0, "usage": {}}],
        }))
        .unwrap()
    }

    #[test]
    fn a_month_costs_the_rate_times_the_price() {
        // 100 decisions, 10 calls and 10 rows a second: 259.2 million, 25.92 million and 25.92 million a month.
        let told = rows([100.0, 10.0, 10.0], Prices::default());
        let costs: Vec<String> = told.iter().map(|row| dollars(row.dollars)).collect();
        assert_eq!(costs, ["$77.76", "$3.89", "$25.92"]);
        assert_eq!(
            words(&told),
            "$107.57 a month at the present rate. Most of it: decisions, as requests, 72.3%."
        );
        let free = rows([0.0; 3], Prices::default());
        assert_eq!(words(&free), "Nothing is charged at the present rate.");
        assert_eq!(dollars(12_345.6), "$12,346");
    }

    #[test]
    fn prices_are_kept_and_what_is_none_is_as_by_default() {
        let prices = Prices::default().with(Item::RowWritten, 0.25);
        assert_eq!(Prices::parse(&prices.text()), prices);
        assert_eq!(
            Prices::parse("request=free&row-written=-1&x=3"),
            Prices::default()
        );
    }

    #[test]
    fn a_rate_is_of_the_last_minutes_and_of_the_same_regions() {
        let mut meter = Meter::default();
        assert_eq!(meter.read(&reply(0, [0, 0, 0], "weur")), None);
        assert_eq!(
            meter.read(&reply(5_000, [500, 50, 5], "weur")),
            None,
            "too short"
        );
        assert_eq!(
            meter.read(&reply(10_000, [1_000, 100, 10], "weur")),
            Some([100.0, 10.0, 1.0])
        );
        assert_eq!(
            meter.read(&reply(20_000, [9_000, 100, 10], "enam")),
            None,
            "another region"
        );
        assert_eq!(
            meter.read(&reply(40_000, [1_000, 100, 10], "enam")),
            None,
            "it fell"
        );
        let quiet = meter.read(&reply(60_000, [1_000, 100, 10], "enam"));
        assert_eq!(quiet, Some([0.0; 3]));
    }
}
