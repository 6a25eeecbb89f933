//! Counters in the text format of Prometheus, version 0.0.4: what a scrape of `/metrics` answers.
//!
//! Counters come from the ledgers' totals, which are durable and never fall: units of a reservation are a gauge while
//! it is open, and are counted when it is settled, as it is settled, so that nothing counted has to be taken back. A
//! series that sums over regions is left out while a region does not answer: a gap is not a reset, a smaller number would
//! be taken for one. Label sets are bounded: what ledgers list by name stays listed, all others are one series.

mod bounds;
mod counted;
pub mod families;
mod objects;
mod page;

pub use families::FAMILIES;
pub use page::{escaped, seconds};

use page::Page;
use weir_core::units::EpochMs;
use weir_policy::Policy;
use weir_wire::accounting::{ANONYMOUS, OTHERS};
use weir_wire::health::Version;
use weir_wire::operator::regions::{CoordinatorStatus, RegionStatus};
use weir_wire::series::TotalsReply;

/// How tenants are labelled that are counted together. No tenant can have the name, as it has a control character.
pub const OTHERS_LABEL: &str = OTHERS;

/// How requests without a tenant are labelled.
pub const ANONYMOUS_LABEL: &str = ANONYMOUS;

/// What the objects said when they were asked.
pub struct Scrape<'a> {
    /// The version of Weir.
    pub version: &'a str,
    /// What the platform calls the version of the Worker that answers; `None` where it calls it nothing.
    pub deployed: Option<&'a Version>,
    /// The policy by which they were asked.
    pub policy: &'a Policy,
    /// The totals of the ledger of each region; `None` for one that did not answer.
    pub totals: &'a [(String, Option<TotalsReply>)],
    /// What was heard of each region.
    pub regions: &'a [RegionStatus],
    /// What was heard of the coordinators that were asked.
    pub coordinators: &'a [CoordinatorStatus],
    /// When.
    pub at: EpochMs,
}

impl Scrape<'_> {
    /// The text.
    ///
    /// ```
    /// use weir_core::invalid::read_json;
    /// use weir_policy::Policy;
    /// use weir_operations::report::metrics::Scrape;
    /// use weir_core::units::EpochMs;
    /// use weir_wire::series::TotalsReply;
    /// let policy = Policy::try_from(&read_json(br#"{ "regions": ["weur"] }"#).unwrap()).unwrap();
    /// let totals = [("weur".to_owned(), Some(TotalsReply::default()))];
    /// let scrape = Scrape {
    ///     version: "0.9.0", deployed: None, policy: &policy, totals: &totals, regions: &[], coordinators: &[], at: EpochMs(0),
    /// };
    /// assert!(scrape.text().contains("# TYPE weir_ledger_up gauge\nweir_ledger_up{region=\"weur\"} 1\n"));
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let mut page = Page::default();
        self.build(&mut page);
        self.objects(&mut page);
        self.budgets(&mut page);
        self.bounds(&mut page);
        self.telemetry(&mut page);
        self.counted(&mut page);
        page.text()
    }

    fn build(&self, page: &mut Page) {
        let mut labels = vec![("version", self.version)];
        if let Some(deployed) = self.deployed {
            labels.extend([("id", deployed.id.as_str()), ("tag", deployed.tag.as_str())]);
        }
        page.set(&families::BUILD_INFO, &labels, 1);
    }
}
