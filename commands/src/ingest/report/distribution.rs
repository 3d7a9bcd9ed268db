//! Distribution of integers: [`Distribution`].

use std::collections::BTreeMap;

/// Distribution of integers, as the count of each.
#[derive(Debug, Default, Clone)]
pub(crate) struct Distribution(BTreeMap<u64, u64>);

impl Distribution {
    pub(crate) fn add(&mut self, number: u64, times: u64) {
        *self.0.entry(number).or_default() += times;
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns the sum of all numbers.
    pub(crate) fn sum(&self) -> u128 {
        self.0.iter().map(|(&number, &times)| u128::from(number) * u128::from(times)).sum()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum() as f64 / self.count().max(1) as f64
    }

    /// Returns the standard deviation of the population.
    pub(crate) fn deviation(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|(&number, &times)| (number as f64 - mean).powi(2) * times as f64).sum();
        (squares / self.count().max(1) as f64).sqrt()
    }

    /// Returns the smallest number that is at least as large as `percent` of all numbers.
    pub(crate) fn percentile(&self, percent: u64) -> u64 {
        let wanted = u128::from(self.count()) * u128::from(percent);
        let mut passed = 0;
        for (&number, &times) in &self.0 {
            passed += u128::from(times) * 100;
            if passed >= wanted {
                return number;
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_agrees_with_the_sorted_list(mut numbers in proptest::collection::vec(0..1_000_u64, 1..60)) {
            let mut distribution = Distribution::default();
            numbers.iter().for_each(|&number| distribution.add(number, 1));
            numbers.sort_unstable();
            let count = numbers.len();
            prop_assert_eq!(distribution.percentile(100), numbers[count - 1]);
            prop_assert_eq!(distribution.percentile(50), numbers[count.div_ceil(2) - 1]);
            prop_assert_eq!(distribution.percentile(99), numbers[(count * 99).div_ceil(100) - 1]);
            let mean = numbers.iter().sum::<u64>() as f64 / count as f64;
            prop_assert!((distribution.mean() - mean).abs() < 1e-9);
            let variance = numbers.iter().map(|&number| (number as f64 - mean) * (number as f64 - mean)).sum::<f64>();
            prop_assert!((distribution.deviation() - (variance / count as f64).sqrt()).abs() < 1e-6);
        }
    }
}
