//! Which requests are traced: those of whose trace the part before is recorded, and of the traces that begin here a share.

use super::parent::{Parent, SpanId, TraceId};
use super::state;

/// Bits of a trace's name that are random by every version of the recommendation: its last 56.
const RANDOM_BITS: u32 = 56;

/// Of the traces that begin here, so many in 2^56 are sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Share(u64);

/// Why a text is no share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoShare {
    /// What it is.
    pub got: String,
}

impl TryFrom<&str> for Share {
    type Error = NoShare;

    /// Reads a number from 0 to 1.
    ///
    /// # Errors
    /// Anything else.
    fn try_from(text: &str) -> Result<Self, NoShare> {
        let share: Option<f64> = text.trim().parse().ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        let share = share.ok_or_else(|| NoShare {
            got: text.chars().take(32).collect(),
        })?;
        Ok(Self((share * (1_u64 << RANDOM_BITS) as f64) as u64))
    }
}

impl Share {
    /// Whether a trace that begins here is sampled: by its name alone, so that whoever asks again is told the same.
    ///
    /// ```
    /// use weir_core::trace::parent::TraceId;
    /// use weir_core::trace::sampling::Share;
    /// let half = Share::try_from("0.5").unwrap();
    /// let trace = |byte| TraceId([byte; 16]);
    /// assert!(half.takes(&trace(0x7f)) && !half.takes(&trace(0x80)));
    /// assert!(!Share::default().takes(&trace(0)) && Share::try_from("1").unwrap().takes(&trace(0xff)));
    /// ```
    #[must_use]
    pub fn takes(self, trace: &TraceId) -> bool {
        let random = u128::from_be_bytes(trace.0) & ((1 << RANDOM_BITS) - 1);
        random < u128::from(self.0)
    }
}

/// A span that has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Its trace.
    pub trace: TraceId,
    /// Itself.
    pub span: SpanId,
    /// The span that asks; `None` where the trace begins here.
    pub parent: Option<SpanId>,
    /// What others keep of the trace.
    pub state: Option<String>,
}

/// The two headers of a request as they came, where they came.
#[derive(Debug, Clone, Copy, Default)]
pub struct Headers<'a> {
    /// `traceparent`.
    pub parent: Option<&'a str>,
    /// `tracestate`.
    pub state: Option<&'a str>,
}

/// Bytes that a span takes of a random source.
pub const DRAWN_BYTES: usize = 24;

impl Begun {
    /// Whether a request is traced, and as which span. `drawn` is random: the name of a trace, should one begin here, and of
    /// the span.
    ///
    /// ```
    /// use weir_core::trace::sampling::{Begun, DRAWN_BYTES, Headers, Share};
    /// let headers = Headers { parent: Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), state: None };
    /// let begun = Begun::of(headers, Share::default(), [7; DRAWN_BYTES]).unwrap();
    /// assert_eq!(begun.trace.text(), "4bf92f3577b34da6a3ce929d0e0e4736");
    /// assert_eq!(begun.parent.unwrap().text(), "00f067aa0ba902b7");
    /// ```
    #[must_use]
    pub fn of(headers: Headers<'_>, share: Share, drawn: [u8; DRAWN_BYTES]) -> Option<Self> {
        let (trace, span) = named(drawn);
        let Some(parent) = headers.parent.and_then(Parent::read) else {
            return share.takes(&trace).then_some(Self {
                trace,
                span,
                parent: None,
                state: None,
            });
        };
        parent.sampled.then(|| Self {
            trace: parent.trace,
            span,
            parent: Some(parent.span),
            state: headers.state.and_then(state::valid).map(str::to_owned),
        })
    }

    /// A span below this one.
    #[must_use]
    pub fn below(&self, drawn: [u8; DRAWN_BYTES]) -> Self {
        Self {
            trace: self.trace,
            span: named(drawn).1,
            parent: Some(self.span),
            state: self.state.clone(),
        }
    }

    /// A word for it, within one isolate.
    #[must_use]
    pub fn word(&self) -> String {
        let parent = self.parent.map(|parent| parent.text());
        let (trace, span) = (self.trace.text(), self.span.text());
        let (parent, state) = (parent.unwrap_or_default(), self.state.as_deref());
        format!("{trace} {span} {parent} {}", state.unwrap_or_default())
    }

    /// The span of a word.
    #[must_use]
    pub fn read(word: &str) -> Option<Self> {
        let mut parts = word.splitn(4, ' ');
        let mut next = || parts.next();
        let (trace, span, parent, state) = (next()?, next()?, next()?, next()?);
        let of = |span: &str| Parent::read(&format!("00-{trace}-{span}-01"));
        let read = of(span)?;
        Some(Self {
            trace: read.trace,
            span: read.span,
            parent: of(parent).map(|parent| parent.span),
            state: state::valid(state).map(str::to_owned),
        })
    }

    /// What is said of it to whoever it asks.
    #[must_use]
    pub fn as_parent(&self) -> Parent {
        Parent {
            trace: self.trace,
            span: self.span,
            sampled: true,
        }
    }
}

/// A trace and a span; neither is called by zeros alone.
fn named(drawn: [u8; DRAWN_BYTES]) -> (TraceId, SpanId) {
    let (mut trace, mut span) = ([0; 16], [0; 8]);
    let (first, last) = drawn.split_at(16);
    trace.copy_from_slice(first);
    span.copy_from_slice(last);
    if trace == [0; 16] {
        trace = [1; 16];
    }
    if span == [0; 8] {
        span = [1; 8];
    }
    (TraceId(trace), SpanId(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    const UNSAMPLED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

    fn share(text: &str) -> Share {
        Share::try_from(text).unwrap()
    }

    fn begun(parent: Option<&str>, share: Share, byte: u8) -> Option<Begun> {
        let headers = Headers {
            parent,
            state: Some("a=1"),
        };
        Begun::of(headers, share, [byte; DRAWN_BYTES])
    }

    #[test]
    fn whoever_asks_says_whether_it_is_recorded_and_else_the_share_does() {
        for all in [share("0"), share("1")] {
            let traced = begun(Some(SAMPLED), all, 9).unwrap();
            assert_eq!(
                (traced.parent.is_some(), traced.state.as_deref()),
                (true, Some("a=1"))
            );
            assert_eq!(begun(Some(UNSAMPLED), all, 9), None);
        }
        for broken in [None, Some("00-zz"), Some("")] {
            assert_eq!(begun(broken, share("0"), 9), None);
            let first = begun(broken, share("1"), 9).unwrap();
            // What others keep of a trace that is not valid is nothing of this one's.
            assert_eq!((first.parent, first.state), (None, None));
            assert_eq!(first.trace, TraceId([9; 16]));
        }
    }

    #[test]
    fn a_share_is_a_number_from_0_to_1() {
        for bad in ["", "x", "-0.1", "1.1", "NaN", "inf", "50%"] {
            assert_eq!(
                Share::try_from(bad),
                Err(NoShare {
                    got: bad.to_owned()
                })
            );
        }
        for (text, due) in [("0", 0), ("0.25", 25), ("1", 100), (" 1e-1 ", 10)] {
            let share = share(text);
            let taken = (0..100_u64).filter(|percent| {
                // The middle of each hundredth, where no rounding decides.
                let random = ((2 * percent + 1) << RANDOM_BITS) / 200;
                let mut name = [0xff; 16];
                name[8..].copy_from_slice(&(random | 0xff << RANDOM_BITS).to_be_bytes());
                share.takes(&TraceId(name))
            });
            assert_eq!(taken.count(), due, "{text}");
        }
    }

    #[test]
    fn nothing_is_called_by_zeros_alone() {
        let root = begun(None, share("1"), 0).unwrap();
        let below = root.below([0; DRAWN_BYTES]);
        assert!(Parent::read(&root.as_parent().text()).is_some());
        assert_eq!((below.trace, below.parent), (root.trace, Some(root.span)));
        assert!(Parent::read(&below.as_parent().text()).unwrap().sampled);
    }

    #[test]
    fn a_word_is_read_as_it_was_written() {
        let root = begun(None, share("1"), 3).unwrap();
        let told = Begun {
            state: Some("a=1, b=2".to_owned()),
            ..root.below([4; DRAWN_BYTES])
        };
        for begun in [root, told] {
            assert_eq!(Begun::read(&begun.word()), Some(begun));
        }
        for word in ["", "a b c d", "00 11"] {
            assert_eq!(Begun::read(word), None, "{word}");
        }
    }
}
