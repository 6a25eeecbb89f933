//! The verdict on a question of several checks, each of one or more dimensions that may be kept in different places.

use weir_algorithms::composite::{Mode, bind_each};
use weir_decision::{Decision, Reason};

/// The rules of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRules {
    /// How its dimensions combine.
    pub mode: Mode,
    /// Whether it is enforced; otherwise it is decided and counted alone.
    pub enforced: bool,
    /// Its dimensions.
    pub dimensions: Vec<DimensionRules>,
}

/// The rules of one dimension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DimensionRules {
    /// Decided and charged, never denying.
    pub shadow: bool,
    /// Admits while its holder is out of reach.
    pub excused: bool,
}

/// What came of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepVerdict {
    /// Whether its dimensions admit.
    pub admitted: bool,
    /// The dimension that stands for it.
    pub binding: Option<usize>,
}

/// What came of the question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionVerdict {
    /// Whether the request may pass.
    pub admitted: bool,
    /// What came of each check.
    pub steps: Vec<StepVerdict>,
    /// The check and the dimension that stand for the whole.
    pub binding: Option<(usize, usize)>,
}

impl DimensionRules {
    /// Whether a decision lets the request pass, as far as this dimension has a say.
    #[must_use]
    pub fn passes(self, decision: &Decision) -> bool {
        decision.admitted() || self.shadow || self.excuses(decision)
    }

    /// Whether a decision would have denied, and lets the request pass for the shadow alone.
    #[must_use]
    pub fn hides_denial(self, decision: &Decision) -> bool {
        self.shadow && !decision.admitted() && !self.excuses(decision)
    }

    fn excuses(self, decision: &Decision) -> bool {
        self.excused && decision.reason == Reason::Unavailable
    }
}

impl StepRules {
    /// Whether what is decided so far is enough to deny: what is open cannot mend it.
    #[must_use]
    pub fn lost(&self, decisions: &[Option<Decision>]) -> bool {
        let mut passes = self.dimensions.iter().zip(decisions);
        let fails = |(rules, decision): (&DimensionRules, &Option<Decision>)| {
            decision.is_some_and(|decision| !rules.passes(&decision))
        };
        self.enforced
            && match self.mode {
                Mode::All => passes.any(fails),
                Mode::Any => passes.all(fails),
            }
    }

    /// What its decided dimensions come to.
    #[must_use]
    pub fn verdict(&self, decisions: &[Option<Decision>]) -> StepVerdict {
        let decided = |with_shadow: bool| {
            let all = self.dimensions.iter().zip(decisions).enumerate();
            all.filter_map(move |(index, (rules, decision))| {
                let decision = decision.as_ref()?;
                (with_shadow || !rules.shadow).then_some((index, rules, decision))
            })
        };
        let open = decided(decided(false).next().is_none());
        let mut passes = open.clone().map(|(_, rules, one)| rules.passes(one));
        let admitted = match self.mode {
            Mode::All => passes.all(|passes| passes),
            Mode::Any => passes.any(|passes| passes),
        };
        let plain = open.map(|(index, _, decision)| (index, decision));
        let binding = bind_each(self.mode, plain).map(|bound| bound.index);
        StepVerdict { admitted, binding }
    }
}

/// What the decisions come to: every enforced check has to admit. The check that stands for the whole is, of those that
/// deny, the one with the longest wait, else of those enforced the one with the least left.
#[must_use]
pub fn verdict(rules: &[StepRules], decisions: &[Vec<Option<Decision>>]) -> QuestionVerdict {
    let steps: Vec<_> = rules
        .iter()
        .zip(decisions)
        .map(|(rules, decisions)| rules.verdict(decisions))
        .collect();
    let admitted = rules
        .iter()
        .zip(&steps)
        .all(|(rules, step)| step.admitted || !rules.enforced);
    let standing = |wanted: &dyn Fn(usize) -> bool| {
        let chosen = (0..steps.len()).filter(|index| wanted(*index));
        let known = chosen.filter_map(|index| {
            let dimension = steps[index].binding?;
            Some((index, decisions[index][dimension].as_ref()?))
        });
        let step = bind_each(Mode::All, known)?.index;
        Some((step, steps[step].binding?))
    };
    let enforced = |index: usize| rules[index].enforced;
    let binding = if admitted {
        standing(&enforced).or_else(|| standing(&|_| true))
    } else {
        standing(&|index| enforced(index) && !steps[index].admitted)
    };
    QuestionVerdict {
        admitted,
        steps,
        binding,
    }
}

#[cfg(test)]
mod tests {
    use weir_core::units::EpochMs;
    use weir_decision::Retry;

    use super::*;

    fn decision(remaining: u64, retry_ms: u64) -> Option<Decision> {
        let denied = retry_ms > 0;
        Some(Decision {
            reason: if denied {
                Reason::LimitExceeded
            } else {
                Reason::Admitted
            },
            limit: 10,
            remaining,
            reset_at: EpochMs(0),
            retry: if denied {
                Retry::AfterMs(retry_ms)
            } else {
                Retry::Now
            },
        })
    }

    fn step(mode: Mode, dimensions: &[DimensionRules]) -> StepRules {
        StepRules {
            mode,
            enforced: true,
            dimensions: dimensions.to_vec(),
        }
    }

    const PLAIN: DimensionRules = DimensionRules {
        shadow: false,
        excused: false,
    };
    const SHADOW: DimensionRules = DimensionRules {
        shadow: true,
        excused: false,
    };
    const EXCUSED: DimensionRules = DimensionRules {
        shadow: false,
        excused: true,
    };

    #[test]
    fn every_enforced_check_has_to_admit_and_the_longest_wait_stands_for_a_denial() {
        let rules = [
            step(Mode::All, &[PLAIN]),
            step(Mode::All, &[PLAIN, PLAIN]),
            step(Mode::All, &[PLAIN]),
        ];
        let decisions = [
            vec![decision(5, 0)],
            vec![decision(9, 0), decision(0, 40)],
            vec![decision(0, 90)],
        ];
        let verdict = verdict(&rules, &decisions);
        assert!(!verdict.admitted);
        assert_eq!(verdict.binding, Some((2, 0)));
        assert_eq!(verdict.steps[1].binding, Some(1));
    }

    #[test]
    fn what_is_not_enforced_never_denies_and_stands_for_the_whole_only_alone() {
        let mut shadow = step(Mode::All, &[PLAIN]);
        shadow.enforced = false;
        let rules = [shadow.clone(), step(Mode::All, &[PLAIN])];
        let passed = verdict(&rules, &[vec![decision(0, 7)], vec![decision(3, 0)]]);
        assert!(passed.admitted);
        assert_eq!(passed.binding, Some((1, 0)));
        assert!(!passed.steps[0].admitted, "it is counted as denied");
        let alone = verdict(&[shadow], &[vec![decision(0, 7)]]);
        assert_eq!((alone.admitted, alone.binding), (true, Some((0, 0))));
    }

    #[test]
    fn a_shadow_hides_what_would_have_denied_and_nothing_else() {
        let out = Decision::unavailable(10, EpochMs(0), 500);
        let (denied, admitted) = (decision(0, 7).unwrap(), decision(3, 0).unwrap());
        let rules = |shadow, excused| DimensionRules { shadow, excused };
        for (rules, one, hides) in [
            (rules(true, false), denied, true),
            (rules(true, false), admitted, false),
            (rules(true, false), out, true),
            (rules(true, true), out, false),
            (rules(true, true), denied, true),
            (rules(false, false), denied, false),
        ] {
            assert_eq!(rules.hides_denial(&one), hides, "{rules:?} {one:?}");
        }
    }

    #[test]
    fn a_shadow_dimension_has_no_say_in_either_mode() {
        for mode in [Mode::All, Mode::Any] {
            let rules = [step(mode, &[SHADOW, PLAIN])];
            let denied = verdict(&rules, &[vec![decision(9, 0), decision(0, 7)]]);
            assert_eq!((denied.admitted, denied.binding), (false, Some((0, 1))));
            let admitted = verdict(&rules, &[vec![decision(0, 7), decision(4, 0)]]);
            assert_eq!((admitted.admitted, admitted.binding), (true, Some((0, 1))));
        }
    }

    #[test]
    fn a_holder_out_of_reach_is_excused_where_the_policy_says_so() {
        let unavailable = Some(Decision::unavailable(10, EpochMs(0), 5));
        for (rules, admitted) in [(PLAIN, false), (EXCUSED, true)] {
            let verdict = verdict(&[step(Mode::All, &[rules])], &[vec![unavailable]]);
            assert_eq!(verdict.admitted, admitted);
        }
    }

    #[test]
    fn a_check_is_lost_as_soon_as_nothing_that_is_open_can_mend_it() {
        let cases = [
            (Mode::All, vec![decision(0, 7), None], true),
            (Mode::All, vec![decision(1, 0), None], false),
            (Mode::Any, vec![decision(0, 7), None], false),
            (Mode::Any, vec![decision(0, 7), decision(0, 9)], true),
        ];
        for (mode, decisions, lost) in cases {
            let rules = step(mode, &[PLAIN, PLAIN]);
            assert_eq!(rules.lost(&decisions), lost, "{mode:?} {decisions:?}");
        }
    }
}
