//! Weights, in integers of one millionth.

use weir_algorithms::rational::gcd;
use weir_core::invalid::Fault;
use weir_core::limits::{WEIGHT_DECIMALS_MAX, WEIGHT_MAX};

/// Micro-units of one.
pub const ONE: u64 = 10_u64.pow(WEIGHT_DECIMALS_MAX);

/// A weight above 0 and at most 10^6, with at most six decimals, kept exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(u64);

impl Weight {
    /// The weight of what has none of its own: 1.
    pub const WHOLE: Self = Self(ONE);

    /// In millionths.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }

    /// The weight of so many millionths.
    ///
    /// # Errors
    /// Outside 1 to 10^12.
    ///
    /// ```
    /// use weir_fairness::weight::Weight;
    /// assert_eq!(Weight::from_micros(2_500_000).unwrap().as_f64(), 2.5);
    /// assert!(Weight::from_micros(0).is_err());
    /// ```
    pub fn from_micros(micros: u64) -> Result<Self, Fault> {
        let micros_max = WEIGHT_MAX * ONE;
        if (1..=micros_max).contains(&micros) {
            return Ok(Self(micros));
        }
        Err(Fault::OutOfRange {
            got: micros.to_string(),
            min: "1".to_owned(),
            max: micros_max.to_string(),
        })
    }

    /// The least number of equal parts of a unit of which this weight is a whole multiple: 2 for 0.5, 1 for 3, 8 for
    /// 0.125; a divisor of 10^6.
    ///
    /// ```
    /// use weir_fairness::weight::Weight;
    /// assert_eq!(Weight::try_from(0.125).unwrap().denominator(), 8);
    /// ```
    #[must_use]
    pub fn denominator(self) -> u64 {
        ONE / gcd(self.0, ONE)
    }

    /// As a JSON number: exact, as it has at most 13 digits.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

impl TryFrom<f64> for Weight {
    type Error = Fault;

    /// Reads the shortest decimal that stands for `value`, which for up to 15 digits is the text it was parsed from.
    ///
    /// ```
    /// use weir_fairness::weight::Weight;
    /// assert_eq!(Weight::try_from(0.1).unwrap().micros(), 100_000);
    /// assert!(Weight::try_from(0.0000001).is_err());
    /// assert!(Weight::try_from(0.0).is_err());
    /// ```
    fn try_from(value: f64) -> Result<Self, Fault> {
        let out_of_range = || Fault::OutOfRange {
            got: value.to_string(),
            min: "0.000001".to_owned(),
            max: WEIGHT_MAX.to_string(),
        };
        if !(value > 0.0 && value <= WEIGHT_MAX as f64) {
            return Err(out_of_range());
        }
        // `Display` for f64 never uses an exponent.
        let text = value.to_string();
        let (whole, decimals) = text.split_once('.').unwrap_or((&text, ""));
        if decimals.len() > WEIGHT_DECIMALS_MAX as usize {
            return Err(Fault::Decimals {
                got: text,
                max: WEIGHT_DECIMALS_MAX,
            });
        }
        let digits = format!(
            "{whole}{decimals:0<width$}",
            width = WEIGHT_DECIMALS_MAX as usize
        );
        digits.parse().map(Self).map_err(|_| out_of_range())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decimal_of_six_digits_is_kept_exactly() {
        let cases = [
            ("1", 1_000_000),
            ("0.000001", 1),
            ("999999.999999", 999_999_999_999),
            ("1000000", 1_000_000_000_000),
            ("0.3", 300_000),
            ("2.675", 2_675_000),
            ("123456.000001", 123_456_000_001),
        ];
        for (text, micros) in cases {
            let weight = Weight::try_from(text.parse::<f64>().unwrap()).unwrap();
            assert_eq!(weight.micros(), micros, "{text}");
            assert_eq!(weight.as_f64().to_string(), text, "{text} comes back");
        }
    }

    #[test]
    fn what_is_no_weight_is_refused() {
        for value in [
            0.0,
            -1.0,
            1_000_000.1,
            f64::NAN,
            f64::INFINITY,
            1e-7,
            1e300,
            0.123_456_7,
        ] {
            assert!(Weight::try_from(value).is_err(), "{value}");
        }
    }
}
