//! What is made of a policy and is needed more often than the policy changes.

use weir_core::units::Revision;

/// What was made of the policy of one revision: that of another is made anew.
///
/// ```
/// use weir_policy::per_revision::PerRevision;
/// use weir_core::units::Revision;
/// let mut regions = PerRevision::default();
/// assert_eq!(regions.get(Revision(1)), None);
/// regions.keep(Revision(1), "weur");
/// assert_eq!(regions.get(Revision(1)), Some(&"weur"));
/// assert_eq!(regions.get(Revision(2)), None);
/// ```
#[derive(Debug, Clone)]
pub struct PerRevision<T>(Option<(Revision, T)>);

impl<T> Default for PerRevision<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> PerRevision<T> {
    /// What was made of that revision.
    #[must_use]
    pub fn get(&self, revision: Revision) -> Option<&T> {
        let kept = self.0.as_ref().filter(|(of, _)| *of == revision);
        kept.map(|(_, made)| made)
    }

    /// Keeps what was made of a revision, in the place of any other.
    pub fn keep(&mut self, revision: Revision, made: T) {
        self.0 = Some((revision, made));
    }
}
