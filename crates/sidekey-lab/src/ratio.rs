//! Medians, spreads, ratios.

use serde::{Deserialize, Serialize};

/// How far a ratio of a store to itself may be from 1 for a measurement to be believed.
pub const AA_TOLERANCE: f64 = 0.05;

/// The ratio from which on a store is called at least as fast.
pub const AS_FAST: f64 = 0.95;

/// Median and spread of some figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// A quarter is below.
    pub low_quartile: f64,
    /// A quarter is above.
    pub high_quartile: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// Of the figures given; `None` of none.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            median: quantile(&sorted, 0.5)?,
            low_quartile: quantile(&sorted, 0.25)?,
            high_quartile: quantile(&sorted, 0.75)?,
            min: *sorted.first()?,
            max: *sorted.last()?,
            count: sorted.len(),
        })
    }
}

/// A quantile of sorted figures, between two of them in proportion.
fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let place = q * (sorted.len().checked_sub(1)?) as f64;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

/// The geometric mean; `None` of none.
pub fn geometric_mean(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let logs: Vec<f64> = figures.into_iter().map(f64::ln).collect();
    (!logs.is_empty()).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Whether a store against itself gave what it should.
pub fn is_even(ratio: f64) -> bool {
    // A ratio and its inverse are judged alike.
    let within = 1.0 + AA_TOLERANCE;
    (1.0 / within..=within).contains(&ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one_whatever_the_order() {
        let spread = Spread::of([5.0, 1.0, 100.0, 2.0, 3.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max, spread.count), (3.0, 1.0, 100.0, 5));
        assert_eq!((spread.low_quartile, spread.high_quartile), (2.0, 5.0));
    }

    #[test]
    fn the_median_of_two_lies_between_them() {
        assert_eq!(Spread::of([1.0, 2.0]).unwrap().median, 1.5);
        assert_eq!(Spread::of([4.0]).unwrap().median, 4.0);
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean([4.0, 0.25]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean([2.0, 8.0]).unwrap() - 4.0).abs() < 1e-12);
        assert_eq!(geometric_mean([]), None);
    }

    #[test]
    fn a_ratio_and_its_inverse_are_judged_alike() {
        assert!(is_even(1.0) && is_even(1.049) && is_even(1.0 / 1.049));
        assert!(!is_even(1.06) && !is_even(1.0 / 1.06) && !is_even(f64::NAN));
    }
}
