//! Static partition: every region is the root of an equal slice of the limit. It needs no messages and pools nothing:
//! what a quiet region leaves is out of a busy one's reach. What leasing is measured against.

use weir_core::invalid::{Fault, Invalid, within};
use weir_core::limits::{JSON_INTEGER_MAX, REGIONS_MAX};

/// Units of the slice `index` (from 0) of `count` slices of `limit`: equal parts, and one unit more in each of the first
/// ones until nothing remains, so that all together are the limit. 0 beyond the last.
///
/// ```
/// use weir_federation::partition::slice;
/// // 100 = 3 x 33 + 1.
/// assert_eq!([0, 1, 2, 3].map(|index| slice(100, index, 3)), [34, 33, 33, 0]);
/// // Fewer units than slices: the last ones get nothing.
/// assert_eq!([0, 1, 2].map(|index| slice(2, index, 3)), [1, 1, 0]);
/// ```
#[must_use]
pub fn slice(limit: u64, index: usize, count: usize) -> u64 {
    let (index, count) = (index as u64, count as u64);
    if index >= count {
        return 0;
    }
    let (equal, rest) = (limit / count, limit % count);
    equal + u64::from(index < rest)
}

/// The slices of the regions of a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    slices: Vec<(String, u64)>,
}

impl Partition {
    /// `limit` over `regions`, in their order.
    ///
    /// # Errors
    /// `/limit` outside 1 to 2^53 - 1; `/regions` when there is none, too many of them, or one twice.
    pub fn new(limit: u64, regions: &[&str]) -> Result<Self, Invalid> {
        let limit = within("/limit", limit, 1..=JSON_INTEGER_MAX)?;
        within("/regions", regions.len(), 1..=REGIONS_MAX)?;
        for (index, region) in regions.iter().enumerate() {
            if regions.iter().take(index).any(|before| before == region) {
                let got = (*region).to_owned();
                return Err(Invalid::new("/regions", Fault::Duplicate { got }));
            }
        }
        let slices = regions.iter().enumerate();
        let slices = slices
            .map(|(index, region)| ((*region).to_owned(), slice(limit, index, regions.len())));
        Ok(Self {
            slices: slices.collect(),
        })
    }

    /// Units of a region per window; `None` for one that has no slice.
    ///
    /// ```
    /// use weir_federation::partition::Partition;
    /// let partition = Partition::new(100, &["weur", "enam", "oc"]).unwrap();
    /// assert_eq!(partition.of("weur"), Some(34));
    /// assert_eq!(partition.of("oc"), Some(33));
    /// assert_eq!(partition.of("me"), None);
    /// ```
    #[must_use]
    pub fn of(&self, region: &str) -> Option<u64> {
        let mut slices = self.slices.iter();
        slices
            .find(|(name, _)| name == region)
            .map(|(_, units)| *units)
    }

    /// Every region with its units per window, in the order of the policy.
    #[must_use]
    pub fn slices(&self) -> &[(String, u64)] {
        &self.slices
    }
}
