//! Whether a deployment's policy is still what a file says.

use serde::Serialize;
use weir_shared::units::Revision;

use crate::difference::{Row, counted_words, text};
use crate::ending::Ending;

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Drift {
    /// The revision in force.
    pub revision: Revision,
    /// What the deployment has otherwise than the file: `before` is the file's value, `after` the deployment's.
    pub difference: Vec<Row>,
}

impl Drift {
    /// How `drift` ends.
    #[must_use]
    pub fn ending(&self) -> Ending {
        if self.difference.is_empty() {
            Ending::Done
        } else {
            Ending::Differs
        }
    }

    /// For a terminal.
    ///
    /// ```
    /// use serde_json::json;
    /// use weir_cli::{difference::difference, drift::Drift};
    /// use weir_shared::units::Revision;
    /// let difference = difference(&json!({ "enforcing": true }), &json!({ "enforcing": false }));
    /// let drift = Drift { revision: Revision(9), difference };
    /// assert_eq!(drift.text(), "Revision 9 differs from the file: 1 value differs.\n~ /enforcing: true → false\n");
    /// ```
    #[must_use]
    pub fn text(&self) -> String {
        let revision = self.revision;
        if self.difference.is_empty() {
            return format!("Revision {revision} equals the file.\n");
        }
        let values = counted_words(&self.difference, ("differs", "differ"));
        format!(
            "Revision {revision} differs from the file: {values}.\n{}",
            text(&self.difference)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_is_no_drift() {
        let drift = Drift {
            revision: Revision(3),
            difference: Vec::new(),
        };
        assert_eq!(drift.ending(), Ending::Done);
        assert_eq!(drift.text(), "Revision 3 equals the file.\n");
    }
}
