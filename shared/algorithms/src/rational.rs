//! The exact ratio of a decimal.

use weir_core::invalid::{Fault, Invalid};
use weir_core::limits::{DECIMALS_MAX, RATE_PER_SEC_MAX};
use weir_wire::decimal::Decimal;

/// A ratio of whole numbers in lowest terms; the denominator is at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rational {
    numerator: u64,
    denominator: u64,
}

impl Rational {
    /// A whole number.
    #[must_use]
    pub const fn whole(number: u64) -> Self {
        Self {
            numerator: number,
            denominator: 1,
        }
    }

    /// The ratio that `value` was written as: that of the shortest decimal text that stands for it, which for up to
    /// 15 digits is the text that it was parsed from (IEEE 754-2019, section 5.12.2). It is above 0, at most `max`
    /// and has at most `decimals_max` decimals, of which 19 are the most that are kept.
    ///
    /// # Errors
    /// [`Fault::OutOfRange`] and [`Fault::Decimals`], with the value and the bound.
    ///
    /// ```
    /// use weir_algorithms::rational::Rational;
    /// let ratio = Rational::above_zero(0.1, 10, 15).unwrap();
    /// assert_eq!((ratio.numerator(), ratio.denominator()), (1, 10)); // not 3602879701896397 / 2^55
    /// assert!(Rational::above_zero(0.0, 10, 15).is_err());
    /// assert!(Rational::above_zero(10.5, 10, 15).is_err());
    /// assert!(Rational::above_zero(0.1 + 0.2, 10, 15).is_err()); // 0.30000000000000004
    /// ```
    pub fn above_zero(value: f64, max: u64, decimals_max: u32) -> Result<Self, Fault> {
        let out_of_range = || Fault::OutOfRange {
            got: value.to_string(),
            min: format!("0.{:0>width$}", 1, width = decimals_max as usize),
            max: max.to_string(),
        };
        if !(value > 0.0 && value <= max as f64) {
            return Err(out_of_range());
        }
        // `Display` for f64 never uses an exponent.
        let text = value.to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        if decimals.len() > decimals_max as usize {
            return Err(Fault::Decimals {
                got: text,
                max: decimals_max,
            });
        }
        let numerator = format!("{whole}{decimals}").parse();
        let denominator = 10_u64.checked_pow(decimals.len() as u32);
        let (Ok(numerator), Some(denominator)) = (numerator, denominator) else {
            return Err(out_of_range());
        };
        Ok(Self::reduced(numerator, denominator))
    }

    /// Over the line.
    #[must_use]
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// Under the line.
    #[must_use]
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// It `factor` times; `None` when that passes 64 bits.
    ///
    /// ```
    /// use weir_algorithms::rational::Rational;
    /// let ratio = Rational::above_zero(1.5, 10, 15).unwrap(); // 3 / 2
    /// assert_eq!(ratio.times(6), Some(Rational::whole(9)));
    /// assert_eq!(ratio.times(u64::MAX), None); // odd, and three times as much passes 64 bits
    /// ```
    #[must_use]
    pub fn times(self, factor: u64) -> Option<Self> {
        let common = gcd(factor, self.denominator).max(1);
        let numerator = self.numerator.checked_mul(factor / common)?;
        Some(Self {
            numerator,
            denominator: self.denominator / common,
        })
    }

    fn reduced(numerator: u64, denominator: u64) -> Self {
        let common = gcd(numerator, denominator).max(1);
        Self {
            numerator: numerator / common,
            denominator: denominator / common,
        }
    }
}

/// A rate at `field`: above 0 and at most [`RATE_PER_SEC_MAX`].
pub(super) fn rate_per_sec(field: &str, value: Decimal) -> Result<Rational, Invalid> {
    Rational::above_zero(value.0, RATE_PER_SEC_MAX, DECIMALS_MAX)
        .map_err(|fault| Invalid::new(field, fault))
}

/// The greatest common divisor (Euclid); `a` when `b` is 0.
pub fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}
