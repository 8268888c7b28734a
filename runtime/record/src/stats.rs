//! Order statistics of samples. They assume nothing of the distribution that the samples are from.

/// How sure [`median_interval`] is.
pub const CONFIDENCE: f64 = 0.95;

/// The `q`-quantile of rising samples, `q` from 0 to 1: between two samples, linear. Nothing of no sample.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    let share = at - below as f64;
    Some(if share == 0.0 { sorted[below] } else { sorted[below] * (1.0 - share) + sorted[above] * share })
}

/// The median of rising samples.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

/// The two samples between which the true median lies with at least [`CONFIDENCE`], by the binomial distribution of how
/// many samples fall below it. Nothing of fewer than six samples: between the extremes of five it lies in 94 % of cases.
pub fn median_interval(sorted: &[f64]) -> Option<(f64, f64)> {
    let rank = median_rank(sorted.len())?;
    Some((sorted[rank], sorted[sorted.len() - 1 - rank]))
}

/// The largest `r` such that the median of `n` samples lies between the `r`-th smallest and the `r`-th largest, from zero,
/// with at least [`CONFIDENCE`].
fn median_rank(n: usize) -> Option<usize> {
    let tail = (1.0 - CONFIDENCE) / 2.0;
    // P(at most r of n fall below the median), summed in logarithms: 2^-n is no float for a thousand samples.
    let mut term = -(n as f64) * std::f64::consts::LN_2;
    let mut sum = 0.0;
    let mut rank = None;
    for r in 0..n / 2 {
        sum += term.exp();
        if sum > tail {
            break;
        }
        rank = Some(r);
        term += ((n - r) as f64).ln() - ((r + 1) as f64).ln();
    }
    rank
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_lie_between_the_samples() {
        let samples = [1.0, 2.0, 4.0, 8.0, 16.0];
        assert_eq!(quantile(&samples, 0.5), Some(4.0));
        assert_eq!(quantile(&samples, 0.0), Some(1.0));
        assert_eq!(quantile(&samples, 1.0), Some(16.0));
        assert_eq!(quantile(&samples, 0.125), Some(1.5));
        assert_eq!(median(&samples[..4]), Some(3.0));
        assert_eq!(median(&[]), None);
    }

    /// Ranks of the sign test's tables, two-sided, 5 %.
    #[test]
    fn the_medians_interval_has_the_ranks_of_the_tables() {
        assert_eq!(median_rank(5), None);
        assert_eq!(median_rank(6), Some(0));
        assert_eq!(median_rank(8), Some(0));
        assert_eq!(median_rank(9), Some(1));
        assert_eq!(median_rank(20), Some(5));
        assert_eq!(median_rank(50), Some(17));
        assert_eq!(median_rank(100), Some(39));
        // 2^-5000 underflows; n/2 - 1.96 * sqrt(n)/2 = 2430.7.
        assert_eq!(median_rank(5000), Some(2430));
    }

    /// Uniform numbers from 0 to 1, the same ones in every run.
    fn uniform(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    #[test]
    fn the_interval_holds_the_median_as_often_as_it_says() {
        let mut next = uniform(7);
        for n in [6, 20, 50, 200] {
            let runs = 4_000;
            let held = (0..runs)
                .filter(|_| {
                    // Skewed, as times are: the median of -ln(u) is ln 2.
                    let mut samples: Vec<f64> = (0..n).map(|_| -next().max(1e-300).ln()).collect();
                    samples.sort_by(f64::total_cmp);
                    let (low, high) = median_interval(&samples).expect("samples enough");
                    low <= std::f64::consts::LN_2 && std::f64::consts::LN_2 <= high
                })
                .count();
            // Never below the confidence by more than three standard errors of the simulation.
            assert!(held as f64 / runs as f64 > CONFIDENCE - 0.0104, "{n}: {held} of {runs}");
        }
    }

    proptest! {
        #[test]
        fn what_a_quantile_gives_lies_among_the_samples(mut samples in prop::collection::vec(0.0f64..1e9, 1..80), q in 0.0f64..=1.0) {
            samples.sort_by(f64::total_cmp);
            let value = quantile(&samples, q).expect("a sample");
            prop_assert!(samples[0] <= value && value <= samples[samples.len() - 1]);
            if let Some((low, high)) = median_interval(&samples) {
                let median = median(&samples).expect("a sample");
                prop_assert!(low <= median && median <= high);
            }
        }
    }
}
