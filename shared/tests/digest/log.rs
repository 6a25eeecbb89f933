//! A digest over a text that nobody has to keep: FNV-1a (Fowler, Noll, Vo; 64 bit).

/// The decisions so far: how many, how many of them positive, and the digest of their text.
#[derive(Debug)]
pub(crate) struct Log {
    digest: u64,
    decisions: usize,
    positive: usize,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            digest: 0xcbf2_9ce4_8422_2325,
            decisions: 0,
            positive: 0,
        }
    }
}

impl Log {
    /// How many decisions were logged.
    pub(crate) fn decisions(&self) -> usize {
        self.decisions
    }

    /// One decision with its numbers, as a line of decimal text.
    pub(crate) fn decision(&mut self, positive: bool, numbers: &[u64]) {
        self.decisions += 1;
        self.positive += usize::from(positive);
        self.text(if positive { "\nyes" } else { "\nno" });
        for number in numbers {
            self.number(Some(*number));
        }
    }

    /// A further number of the last decision.
    pub(crate) fn number(&mut self, number: Option<u64>) {
        match number {
            Some(number) => self.text(&format!(" {number}")),
            None => self.text(" -"),
        }
    }

    /// Text of the last decision.
    pub(crate) fn text(&mut self, text: &str) {
        for byte in text.bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Fails unless all decisions were made, of which `positive` were positive, with this digest.
    pub(crate) fn is(&self, positive: usize, digest: u64) {
        let got = (self.decisions, self.positive, self.digest);
        assert!(
            got == (crate::digest::DECISIONS, positive, digest),
            "{} decisions, {} positive, digest {:#018x}",
            self.decisions,
            self.positive,
            self.digest
        );
    }
}
