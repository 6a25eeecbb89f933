//! Any of the algorithms behind one interface: the macro that makes it of the table in [`super`].
//!
//! A row names an algorithm, its state, and what names a charge. Each algorithm has the methods that are called here,
//! [`Carry`](super::carry::Carry) says how its states outlive a change of its numbers, and
//! [`CarriedState`](super::carry::CarriedState) what a state can say by itself.

macro_rules! any_of {
    ($($(#[$doc:meta])* $name:ident($rule:ty, $state:ty, $receipt:ty);)+) => {
        /// A limit that answers with a [`Decision`].
        #[derive(Debug, Clone, PartialEq)]
        pub enum Algorithm {
            $($(#[$doc])* $name($rule),)+
        }

        /// The state of one key, as it is stored.
        ///
        /// ```
        /// use weir_algorithms::gcra::Gcra;
        /// use weir_algorithms::{Algorithm, State};
        /// use weir_core::units::EpochMs;
        /// let gcra = Algorithm::Gcra(Gcra::new(10, 1_000, 2).unwrap());
        /// let state = gcra.check(None, 1, EpochMs(50_000)).next.unwrap();
        /// let json = serde_json::to_string(&state).unwrap();
        /// assert!(json.starts_with(r#"{"gcra":{"ms":50100,"#)); // the next unit is due one T = 100 ms later
        /// assert_eq!(serde_json::from_str::<State>(&json).unwrap(), state);
        /// ```
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum State {
            $($(#[$doc])* $name($state),)+
        }

        /// What names one charge, so that it can be given back.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Receipt {
            $($(#[$doc])* $name($receipt),)+
            /// Of nothing that could be given back.
            Nothing,
        }

        impl Algorithm {
            /// Decides on a state of its own; any other counts as none.
            #[inline]
            fn check_own(&self, state: Option<&State>, cost: u64, now: EpochMs) -> Checked<State> {
                match self {
                    $(Self::$name(rule) => {
                        let own = match state {
                            Some(State::$name(own)) => Some(own),
                            _ => None,
                        };
                        rule.check(own, cost, now).map(State::$name)
                    })+
                }
            }

            /// What names the charge that led to `after`, for [`refund`](Self::refund). `after` is the state right
            /// after it.
            #[must_use]
            pub fn receipt(&self, after: &State) -> Receipt {
                match (self, after) {
                    // A queue has none where no place was taken; every other algorithm always has one.
                    $((Self::$name(rule), State::$name(after)) => {
                        Option::<$receipt>::from(rule.receipt(after))
                            .map_or(Receipt::Nothing, Receipt::$name)
                    })+
                    _ => Receipt::Nothing,
                }
            }

            /// Gives back `units` of the charge that `receipt` names, once and no more than it cost. The state is then
            /// never more generous than if they had never been charged. `None` when it stays as it is.
            #[must_use]
            pub fn refund(
                &self,
                state: &State,
                receipt: &Receipt,
                units: u64,
                now: EpochMs,
            ) -> Option<State> {
                match (self, state, receipt) {
                    $((Self::$name(rule), State::$name(state), Receipt::$name(receipt)) => {
                        rule.refund(state, receipt, units, now).map(State::$name)
                    })+
                    _ => None,
                }
            }

            /// What a state that cannot be read is taken for: a key that has used all that it may at `now`.
            #[must_use]
            pub fn exhausted(&self, now: EpochMs) -> State {
                match self {
                    $(Self::$name(rule) => State::$name(rule.exhausted(now)),)+
                }
            }

            /// The first millisecond at which `state` is no different from a cold key.
            #[must_use]
            pub fn expires_at(&self, state: &State) -> EpochMs {
                match (self, state) {
                    $((Self::$name(rule), State::$name(state)) => rule.expires_at(state),)+
                    _ => EpochMs(0),
                }
            }

            /// Until when units that were charged at `now` may be spent later; `after` is the state right after the
            /// charge.
            #[must_use]
            pub fn spendable_until(&self, after: &State, now: EpochMs) -> EpochMs {
                match (self, after) {
                    $((Self::$name(rule), State::$name(after)) => rule.spendable_until(after, now),)+
                    _ => now,
                }
            }

            /// The largest cost that a cold key admits.
            #[must_use]
            pub fn ceiling(&self) -> u64 {
                match self {
                    $(Self::$name(rule) => rule.ceiling(),)+
                }
            }

            /// What it promises over time.
            #[must_use]
            pub fn quota_policy(&self) -> QuotaPolicy {
                match self {
                    $(Self::$name(rule) => rule.quota_policy(),)+
                }
            }

            /// Bytes of one stored [`State`] of it, as JSON, at most.
            #[must_use]
            pub fn state_bytes_max(&self) -> u64 {
                match self {
                    $(Self::$name(rule) => rule.state_bytes_max(),)+
                }
            }

            /// The same limit counted in units of `1 / scale`; `None` when its numbers would leave what is exact.
            #[must_use]
            pub fn scaled(&self, scale: u64) -> Option<Self> {
                match self {
                    $(Self::$name(rule) => rule.scaled(scale).map(Self::$name),)+
                }
            }

            /// Whether a state is decided on as it is: see [`Carry::reads`].
            #[inline]
            fn reads(&self, state: &State) -> bool {
                match (self, state) {
                    $((Self::$name(rule), State::$name(state)) => rule.reads(state),)+
                    _ => false,
                }
            }

            /// Whether a state counts by these rules as it is: see [`Carry::owns`].
            fn owns(&self, state: &State) -> bool {
                match (self, state) {
                    $((Self::$name(rule), State::$name(state)) => rule.owns(state),)+
                    _ => false,
                }
            }

            /// The state of a key that was cold and is charged what was used, up to all that it admits; `None` where
            /// nothing was.
            #[cold]
            fn charged(&self, used: &Used) -> Option<State> {
                let latest = used.latest()?;
                Some(match self {
                    $(Self::$name(rule) => State::$name(rule.charged(used, latest)),)+
                })
            }
        }

        impl CarriedState for State {
            fn used(&self, now: EpochMs) -> Used {
                match self {
                    $(Self::$name(state) => state.used(now),)+
                }
            }

            fn rescaled(&self, from: u64, to: u64) -> Self {
                match self {
                    $(Self::$name(state) => Self::$name(state.rescaled(from, to)),)+
                }
            }
        }
    };
}
