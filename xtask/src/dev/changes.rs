//! When the sources are built again.

/// Edits come in bursts: a build starts when nothing has changed between two looks, and one of a change that came
/// during a build starts after it.
#[derive(Debug)]
pub(super) struct Changes {
    /// The sources as the last build found them.
    built: String,
    /// The sources as they were at the last look.
    seen: String,
}

impl Changes {
    /// The sources were built as they are.
    pub(super) fn new(print: String) -> Self {
        Self {
            built: print.clone(),
            seen: print,
        }
    }

    /// One look at the sources while no build runs: whether to build them now.
    pub(super) fn look(&mut self, print: String) -> bool {
        let quiet = self.seen == print;
        self.seen = print;
        let build = quiet && self.seen != self.built;
        if build {
            self.built.clone_from(&self.seen);
        }
        build
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builds(looks: &str) -> Vec<bool> {
        let mut changes = Changes::new("a".to_owned());
        looks
            .chars()
            .map(|print| changes.look(print.to_string()))
            .collect()
    }

    #[test]
    fn sources_that_stay_as_they_are_are_not_built() {
        assert_eq!(builds("aaa"), [false; 3]);
    }

    #[test]
    fn a_burst_of_edits_is_one_build_when_it_is_over() {
        assert_eq!(builds("bcdddd"), [false, false, false, true, false, false]);
    }

    #[test]
    fn an_edit_during_a_build_is_built_after_it() {
        let mut changes = Changes::new("a".to_owned());
        assert!(!changes.look("b".to_owned()));
        assert!(changes.look("b".to_owned()));
        // No look while it runs.
        assert!(!changes.look("c".to_owned()));
        assert!(changes.look("c".to_owned()));
    }

    #[test]
    fn an_edit_that_is_taken_back_at_once_is_no_change() {
        assert_eq!(builds("baa"), [false; 3]);
    }
}
