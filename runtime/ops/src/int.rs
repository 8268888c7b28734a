//! Integers whose arithmetic is checked.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Mul, Neg, Sub};

/// Why an integer has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// A result is beyond 128 bits.
    #[error("a result is beyond 128 bits")]
    Overflow,
    /// A division or a remainder by zero.
    #[error("a division by zero")]
    DivisionByZero,
    /// A divisor that must be positive is not.
    #[error("the divisor is {0}, and must be positive")]
    NotPositive(i128),
}

/// An integer of 128 bits, or why there is none.
///
/// Arithmetic neither wraps nor panics: what fails is carried to the end, where [`Int::get`] gives it. Division and
/// remainder round down, as Python's `//` and `%` do.
///
/// ```
/// use tileops_ops::Int;
///
/// let (m, n) = (Int::from(4096), Int::from(-7));
/// assert_eq!((2 * m * m + 1).get(), Ok(33_554_433));
/// assert_eq!(n.floor_div(2).get(), Ok(-4));
/// assert_eq!(n.modulo(2).get(), Ok(1));
/// assert!((Int::from(i128::MAX) + 1 - 1).get().is_err());
/// ```
///
/// It has no order, since what failed has none: compare what [`Int::get`] gives.
#[derive(Clone, Copy)]
pub struct Int(Result<i128, Failure>);

impl Int {
    /// The integer, where no step to it failed.
    pub fn get(self) -> Result<i128, Failure> {
        self.0
    }

    fn with(self, other: Int, op: impl FnOnce(i128, i128) -> Result<i128, Failure>) -> Int {
        Int(self.0.and_then(|a| other.0.and_then(|b| op(a, b))))
    }

    /// The quotient, rounded down.
    #[must_use]
    pub fn floor_div(self, divisor: impl Into<Int>) -> Int {
        self.with(divisor.into(), |a, b| {
            if b == 0 {
                return Err(Failure::DivisionByZero);
            }
            // Rust rounds to zero: the two differ by one where there is a remainder and the signs differ.
            let quotient = a.checked_div(b).ok_or(Failure::Overflow)?;
            Ok(quotient - i128::from(a % b != 0 && (a < 0) != (b < 0)))
        })
    }

    /// The remainder of [`Int::floor_div`], which has the divisor's sign.
    #[must_use]
    pub fn modulo(self, divisor: impl Into<Int>) -> Int {
        self.with(divisor.into(), |a, b| {
            if b == 0 {
                return Err(Failure::DivisionByZero);
            }
            // `MIN % -1` overflows although its result is 0.
            let remainder = a.checked_rem(b).unwrap_or(0);
            Ok(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
        })
    }

    /// The quotient, rounded up; the divisor is positive.
    #[must_use]
    pub fn ceil_div(self, divisor: impl Into<Int>) -> Int {
        self.with(divisor.into(), |a, b| {
            if b <= 0 {
                return Err(Failure::NotPositive(b));
            }
            Ok(a / b + i128::from(a % b > 0))
        })
    }

    /// The smaller of the two.
    #[must_use]
    pub fn min(self, other: impl Into<Int>) -> Int {
        self.with(other.into(), |a, b| Ok(a.min(b)))
    }

    /// The greater of the two.
    #[must_use]
    pub fn max(self, other: impl Into<Int>) -> Int {
        self.with(other.into(), |a, b| Ok(a.max(b)))
    }
}

/// `value`, as the start of checked arithmetic.
pub fn int(value: impl Into<Int>) -> Int {
    value.into()
}

impl From<i128> for Int {
    fn from(value: i128) -> Self {
        Int(Ok(value))
    }
}

macro_rules! from_lossless {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Int {
            fn from(value: $ty) -> Self {
                Int(Ok(i128::from(value)))
            }
        }
    )*};
}

// `i32` is what a literal is where nothing else says.
from_lossless!(i32, u32, i64, u64);

impl From<usize> for Int {
    fn from(value: usize) -> Self {
        Int(i128::try_from(value).map_err(|_| Failure::Overflow))
    }
}

impl From<Failure> for Int {
    fn from(failure: Failure) -> Self {
        Int(Err(failure))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $checked:ident) => {
        impl $trait for Int {
            type Output = Int;
            fn $method(self, other: Int) -> Int {
                self.with(other, |a, b| a.$checked(b).ok_or(Failure::Overflow))
            }
        }
        impl $trait<i128> for Int {
            type Output = Int;
            fn $method(self, other: i128) -> Int {
                $trait::$method(self, Int::from(other))
            }
        }
        impl $trait<Int> for i128 {
            type Output = Int;
            fn $method(self, other: Int) -> Int {
                $trait::$method(Int::from(self), other)
            }
        }
    };
}

operator!(Add, add, checked_add);
operator!(Sub, sub, checked_sub);
operator!(Mul, mul, checked_mul);

impl Neg for Int {
    type Output = Int;
    fn neg(self) -> Int {
        Int(self.0.and_then(|value| value.checked_neg().ok_or(Failure::Overflow)))
    }
}

impl Sum for Int {
    fn sum<I: Iterator<Item = Int>>(items: I) -> Int {
        items.fold(Int::from(0_i128), Add::add)
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(value) => write!(f, "{value}"),
            Err(failure) => write!(f, "({failure})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_as_in_python() {
        // Quotient and remainder as CPython gives them.
        for (a, b, quotient, remainder) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (6, -3, -2, 0), (0, -5, 0, 0)]
        {
            assert_eq!(int(a).floor_div(b).get(), Ok(quotient), "{a} // {b}");
            assert_eq!(int(a).modulo(b).get(), Ok(remainder), "{a} % {b}");
        }
        for (a, b, up) in [(7, 2, 4), (-7, 2, -3), (6, 2, 3), (0, 3, 0), (i128::MAX, 2, 1 << 126)] {
            assert_eq!(int(a).ceil_div(b).get(), Ok(up), "ceil({a} / {b})");
        }
        assert_eq!(int(i128::MIN).modulo(-1).get(), Ok(0));
    }

    #[test]
    fn what_fails_is_carried_to_the_end() {
        let overflow = int(i128::MAX) + 1;
        assert_eq!((overflow - 1).get(), Err(Failure::Overflow));
        assert_eq!(int(i128::MIN).floor_div(-1).get(), Err(Failure::Overflow));
        assert_eq!((-int(i128::MIN)).get(), Err(Failure::Overflow));
        assert_eq!((int(1).floor_div(0) + overflow).get(), Err(Failure::DivisionByZero));
        assert_eq!(int(1).modulo(0).get(), Err(Failure::DivisionByZero));
        assert_eq!(int(1).ceil_div(-3).get(), Err(Failure::NotPositive(-3)));
        assert_eq!([int(1), int(2), 3 - int(4)].into_iter().sum::<Int>().get(), Ok(2));
        assert_eq!(int(3).min(2).max(-1).get(), Ok(2));
    }
}
