//! How much of what is to be played is done, told now and then.

/// Requests from one time that it is told to the next: as many as take about a hundredth of a second.
const STEP: usize = 10_000;

/// Counts what is played.
pub struct Progress<'t> {
    done: usize,
    of: usize,
    tell: &'t mut dyn FnMut(usize, usize),
}

impl<'t> Progress<'t> {
    /// Nothing of so many requests is played. `tell` hears how many are, and of how many: after each step, and after the last.
    ///
    /// ```
    /// use weir_operations::replay::progress::Progress;
    /// let mut told = Vec::new();
    /// let mut tell = |done, of| told.push((done, of));
    /// let mut progress = Progress::new(25_000, &mut tell);
    /// (0..25_000).for_each(|_| progress.one());
    /// assert_eq!(told, [(10_000, 25_000), (20_000, 25_000), (25_000, 25_000)]);
    /// ```
    pub fn new(of: usize, tell: &'t mut dyn FnMut(usize, usize)) -> Self {
        Self { done: 0, of, tell }
    }

    /// One more is played.
    pub fn one(&mut self) {
        self.done += 1;
        if self.done.is_multiple_of(STEP) || self.done == self.of {
            (self.tell)(self.done, self.of);
        }
    }
}
