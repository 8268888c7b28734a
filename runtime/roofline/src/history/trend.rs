//! Whether times rise or fall from night to night, by rank: no night that stands out decides it.

use tileops_record::stats::median;

/// Where times are heading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trend {
    /// The direction, if there is one.
    pub direction: Direction,
    /// By how much a night's time lies above the one before, as a share: the median of the slopes between all pairs of nights
    /// (Theil and Sen), over the median time.
    pub per_night: f64,
    /// How likely ranks as ordered as these are without a trend (Mann and Kendall, two-sided).
    pub p: f64,
}

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Times grow.
    Rising,
    /// Times shrink.
    Falling,
    /// Neither, as far as one can tell.
    Level,
}

impl Direction {
    /// `rising`, `falling` or `level`.
    pub fn as_str(self) -> &'static str {
        match self {
            Direction::Rising => "rising",
            Direction::Falling => "falling",
            Direction::Level => "level",
        }
    }
}

/// Fewer nights have no trend.
const NIGHTS: usize = 6;
/// Of a thousand rows without one, one is said to have a trend.
const P: f64 = 0.001;

impl Trend {
    /// The trend of `(night, nanoseconds)`, nights rising. Nothing of fewer than six nights.
    pub fn of(points: &[(f64, f64)]) -> Option<Trend> {
        if points.len() < NIGHTS {
            return None;
        }
        let pairs = || points.iter().enumerate().flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
        let mut slopes: Vec<f64> = pairs().filter(|(a, b)| b.0 > a.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect();
        slopes.sort_by(f64::total_cmp);
        let mut times: Vec<f64> = points.iter().map(|p| p.1).collect();
        times.sort_by(f64::total_cmp);
        let per_night = median(&slopes)? / median(&times)?;
        let sign = |x: f64| f64::from(i8::from(x > 0.0) - i8::from(x < 0.0));
        let score: f64 = pairs().map(|(a, b)| sign(b.1 - a.1)).sum();
        let n = points.len() as f64;
        // Equal times lessen the variance.
        let ties: f64 =
            times.chunk_by(|a, b| a == b).map(|run| run.len() as f64).map(|t| t * (t - 1.0) * (2.0 * t + 5.0)).sum();
        let variance = (n * (n - 1.0) * (2.0 * n + 5.0) - ties) / 18.0;
        let z = if variance > 0.0 { (score.abs() - 1.0).max(0.0) / variance.sqrt() } else { 0.0 };
        let p = two_sided(z);
        let direction = match (p < P, per_night > 0.0) {
            (true, true) => Direction::Rising,
            (true, false) => Direction::Falling,
            (false, _) => Direction::Level,
        };
        Some(Trend { direction, per_night, p })
    }
}

/// The probability of a standard normal variable beyond `z` in either direction, to 1e-7 (Abramowitz and Stegun 26.2.17).
fn two_sided(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let poly =
        t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
    (2.0 * density * poly).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_tail_is_that_of_the_tables() {
        for (z, p) in [(0.0, 1.0), (1.959_964, 0.05), (2.575_829, 0.01), (3.290_527, 0.001)] {
            assert!((two_sided(z) - p).abs() < 1e-6, "{z}: {}", two_sided(z));
        }
    }

    #[test]
    fn a_creep_is_found_and_a_night_that_stands_out_is_none() {
        let creep: Vec<(f64, f64)> = (0..14).map(|n| (f64::from(n), 1e5 * (1.0 + 0.004 * f64::from(n)))).collect();
        let trend = Trend::of(&creep).expect("nights enough");
        assert_eq!(trend.direction, Direction::Rising);
        assert!((trend.per_night - 0.0039).abs() < 2e-4, "{trend:?}");
        let back: Vec<(f64, f64)> = creep.iter().rev().enumerate().map(|(n, p)| (n as f64, p.1)).collect();
        assert_eq!(Trend::of(&back).map(|t| t.direction), Some(Direction::Falling));
        let mut spike: Vec<(f64, f64)> = (0..14).map(|n| (f64::from(n), 1e5 + f64::from(n * 7 % 5))).collect();
        spike[13].1 = 9e5;
        let trend = Trend::of(&spike).expect("nights enough");
        assert_eq!(trend.direction, Direction::Level);
        assert!(trend.per_night.abs() < 1e-4);
        assert_eq!(Trend::of(&creep[..5]), None);
        let flat: Vec<(f64, f64)> = (0..9).map(|n| (f64::from(n), 1e5)).collect();
        assert!(Trend::of(&flat).is_some_and(|t| t.direction == Direction::Level && t.p > 0.999));
    }
}
