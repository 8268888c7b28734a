//! Elements as numbers, and back: every dtype, rounded to nearest, ties to even.

use half::{bf16, f16};
use tileops_ops::DType;

/// A floating-point format of eight bits.
#[derive(Debug, Clone, Copy)]
struct Small {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    /// Which codes are no numbers. Without infinities, what is too large is not a number.
    specials: Specials,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// As in IEEE 754: the largest exponent holds infinities and NaNs.
    Ieee,
    /// One NaN a sign, all bits set; no infinity (OCP 8-bit floating point, `E4M3`).
    AllOnes,
    /// One NaN, the code of a negative zero; no infinity.
    NegativeZero,
}

fn small(dtype: DType) -> Option<Small> {
    let format =
        |exponent_bits, mantissa_bits, bias, specials| Some(Small { exponent_bits, mantissa_bits, bias, specials });
    match dtype {
        DType::Float8E4M3Fn => format(4, 3, 7, Specials::AllOnes),
        DType::Float8E5M2 => format(5, 2, 15, Specials::Ieee),
        DType::Float8E4M3FnUz => format(4, 3, 8, Specials::NegativeZero),
        DType::Float8E5M2FnUz => format(5, 2, 16, Specials::NegativeZero),
        _ => None,
    }
}

impl Small {
    fn nan(self) -> u8 {
        match self.specials {
            Specials::Ieee | Specials::AllOnes => 0x7f,
            Specials::NegativeZero => 0x80,
        }
    }

    fn decode(self, code: u8) -> f64 {
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        let magnitude = code & 0x7f;
        let (mantissa, exponent) =
            (i32::from(magnitude & ((1 << self.mantissa_bits) - 1)), magnitude >> self.mantissa_bits);
        let top = (1_u8 << self.exponent_bits) - 1;
        match self.specials {
            Specials::Ieee if exponent == top && mantissa == 0 => return sign * f64::INFINITY,
            Specials::Ieee if exponent == top => return f64::NAN,
            Specials::AllOnes if magnitude == 0x7f => return f64::NAN,
            Specials::NegativeZero if code == 0x80 => return f64::NAN,
            _ => {}
        }
        let shift = self.mantissa_bits as i32;
        let (significand, power) = match exponent {
            0 => (mantissa, 1 - self.bias - shift),
            _ => (mantissa + (1 << shift), i32::from(exponent) - self.bias - shift),
        };
        sign * f64::from(significand) * 2_f64.powi(power)
    }

    /// The nearest code. What is beyond the largest finite number becomes an infinity or, without one, not a number.
    fn encode(self, value: f64) -> u8 {
        if value.is_nan() {
            return self.nan();
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        if magnitude == 0.0 {
            return if self.specials == Specials::NegativeZero { 0 } else { sign };
        }
        let overflow = match self.specials {
            Specials::Ieee => sign | (((1 << self.exponent_bits) - 1) << self.mantissa_bits),
            Specials::AllOnes | Specials::NegativeZero => {
                self.nan() | if self.specials == Specials::AllOnes { sign } else { 0 }
            }
        };
        if magnitude.is_infinite() {
            return overflow;
        }
        let shift = self.mantissa_bits as i32;
        let exponent = exponent_of(magnitude).max(1 - self.bias);
        // In units of the last place: exact, since only the exponent changes.
        let units = magnitude * 2_f64.powi(shift - exponent);
        let rounded = units.round_ties_even() as i64;
        // A carry out of the significand runs into the exponent's bits, which is the next power of two.
        let code = rounded + (i64::from(exponent - 1 + self.bias) << shift);
        let code = if exponent == 1 - self.bias { rounded } else { code };
        let largest = match self.specials {
            Specials::Ieee => (((1_i64 << self.exponent_bits) - 1) << shift) - 1,
            Specials::AllOnes => 0x7e,
            Specials::NegativeZero => 0x7f,
        };
        // Where the negative zero's code is the NaN, what rounds to zero has no sign.
        let sign = if code == 0 && self.specials == Specials::NegativeZero { 0 } else { sign };
        if code > largest { overflow } else { sign_of(sign, code) }
    }
}

fn sign_of(sign: u8, code: i64) -> u8 {
    sign | u8::try_from(code).unwrap_or(0x7f)
}

/// The power of two at or below a positive, finite number.
fn exponent_of(magnitude: f64) -> i32 {
    let biased = ((magnitude.to_bits() >> 52) & 0x7ff) as i32;
    // Subnormal doubles are far below every format here.
    if biased == 0 { -1023 } else { biased - 1023 }
}

/// The bytes of element `at`.
fn bytes_of<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut element = [0; N];
    element.copy_from_slice(&bytes[at * N..(at + 1) * N]);
    element
}

/// Element `at` as a number. Whole numbers beyond 2^53 are rounded. Of a complex number, the real part.
pub fn get(dtype: DType, bytes: &[u8], at: usize) -> f64 {
    match dtype {
        DType::Float16 => f16::from_ne_bytes(bytes_of(bytes, at)).to_f64(),
        DType::BFloat16 => bf16::from_ne_bytes(bytes_of(bytes, at)).to_f64(),
        DType::Float32 => f64::from(f32::from_ne_bytes(bytes_of(bytes, at))),
        DType::Float64 => f64::from_ne_bytes(bytes_of(bytes, at)),
        DType::Complex64 => f64::from(f32::from_ne_bytes(bytes_of(bytes, 2 * at))),
        DType::Complex128 => f64::from_ne_bytes(bytes_of(bytes, 2 * at)),
        DType::Float8E8M0FnU if bytes[at] == 0xff => f64::NAN,
        DType::Float8E8M0FnU => 2_f64.powi(i32::from(bytes[at]) - 127),
        _ => match small(dtype) {
            Some(format) => format.decode(bytes[at]),
            None => get_int(dtype, bytes, at) as f64,
        },
    }
}

/// Element `at` of a dtype of whole numbers or Booleans; of another one, its value cut to a whole number.
pub fn get_int(dtype: DType, bytes: &[u8], at: usize) -> i128 {
    match dtype {
        DType::Bool => i128::from(bytes[at] != 0),
        DType::UInt8 => i128::from(bytes[at]),
        DType::Int8 => i128::from(i8::from_ne_bytes(bytes_of(bytes, at))),
        DType::Int16 => i128::from(i16::from_ne_bytes(bytes_of(bytes, at))),
        DType::UInt16 => i128::from(u16::from_ne_bytes(bytes_of(bytes, at))),
        DType::Int32 => i128::from(i32::from_ne_bytes(bytes_of(bytes, at))),
        DType::UInt32 => i128::from(u32::from_ne_bytes(bytes_of(bytes, at))),
        DType::Int64 => i128::from(i64::from_ne_bytes(bytes_of(bytes, at))),
        DType::UInt64 => i128::from(u64::from_ne_bytes(bytes_of(bytes, at))),
        _ => get(dtype, bytes, at) as i128,
    }
}

fn place<const N: usize>(bytes: &mut [u8], at: usize, element: [u8; N]) {
    bytes[at * N..(at + 1) * N].copy_from_slice(&element);
}

/// Stores a number as element `at`, rounded to nearest, ties to even. A dtype of whole numbers takes it cut towards zero
/// and held to its range; `bool` takes whether it is not zero; a complex one takes it as its real part.
pub fn put(dtype: DType, bytes: &mut [u8], at: usize, value: f64) {
    match dtype {
        DType::Float16 => place(bytes, at, f16::from_f32(to_odd(value)).to_ne_bytes()),
        DType::BFloat16 => place(bytes, at, bf16::from_f32(to_odd(value)).to_ne_bytes()),
        DType::Float32 => place(bytes, at, (value as f32).to_ne_bytes()),
        DType::Float64 => place(bytes, at, value.to_ne_bytes()),
        DType::Complex64 => place(bytes, 2 * at, (value as f32).to_ne_bytes()),
        DType::Complex128 => place(bytes, 2 * at, value.to_ne_bytes()),
        DType::Float8E8M0FnU => bytes[at] = power_of_two(value),
        DType::Bool => bytes[at] = u8::from(value != 0.0),
        _ => match small(dtype) {
            Some(format) => bytes[at] = format.encode(value),
            None => put_int(dtype, bytes, at, value as i128),
        },
    }
}

/// In single precision, with a last bit that says that there was more: rounded again to fewer bits, the result is that of
/// one rounding. (`half` converts from double precision by its upper 32 bits, and takes what lies a hair beyond a tie for
/// one.)
fn to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || !nearest.is_finite() {
        return nearest;
    }
    // Of the two neighbours of the value, the one whose last bit is set.
    let cut = if f64::from(nearest).abs() > value.abs() { nearest.to_bits() - 1 } else { nearest.to_bits() };
    f32::from_bits(cut | 1)
}

/// The nearest power of two, as its exponent with a bias of 127.
fn power_of_two(value: f64) -> u8 {
    if value.is_nan() || value < 0.0 {
        return 0xff;
    }
    let exponent = value.log2().round_ties_even().clamp(-127.0, 127.0);
    (exponent + 127.0) as u8
}

/// Stores a whole number as element `at`, held to the range of the dtype.
pub fn put_int(dtype: DType, bytes: &mut [u8], at: usize, value: i128) {
    macro_rules! held {
        ($type:ty) => {
            place(bytes, at, (value.clamp(<$type>::MIN.into(), <$type>::MAX.into()) as $type).to_ne_bytes())
        };
    }
    match dtype {
        DType::Bool => bytes[at] = u8::from(value != 0),
        DType::UInt8 => held!(u8),
        DType::Int8 => held!(i8),
        DType::Int16 => held!(i16),
        DType::UInt16 => held!(u16),
        DType::Int32 => held!(i32),
        DType::UInt32 => held!(u32),
        DType::Int64 => held!(i64),
        DType::UInt64 => held!(u64),
        _ => put(dtype, bytes, at, value as f64),
    }
}

/// The number that `value` becomes when it is stored as `dtype`.
pub fn round_to(dtype: DType, value: f64) -> f64 {
    let mut element = [0; 16];
    put(dtype, &mut element, 0, value);
    get(dtype, &element, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_eight_bits_is_the_nearest_of_its_number() {
        for dtype in
            [DType::Float8E4M3Fn, DType::Float8E5M2, DType::Float8E4M3FnUz, DType::Float8E5M2FnUz, DType::Float8E8M0FnU]
        {
            for code in 0..=255_u8 {
                let value = get(dtype, &[code], 0);
                let mut back = [0];
                put(dtype, &mut back, 0, value);
                let again = get(dtype, &back, 0);
                assert!(again == value || (again.is_nan() && value.is_nan()), "{dtype} {code:#x}: {value} -> {again}");
            }
        }
    }

    #[test]
    fn halves_go_to_the_even_neighbour() {
        // Between 1 and 1.125, and between 1.125 and 1.25.
        assert_eq!(round_to(DType::Float8E4M3Fn, 1.0625), 1.0);
        assert_eq!(round_to(DType::Float8E4M3Fn, 1.1875), 1.25);
        assert_eq!(round_to(DType::Float8E4M3Fn, 448.0), 448.0);
        assert_eq!(round_to(DType::Float8E4M3Fn, 463.9), 448.0);
        assert!(round_to(DType::Float8E4M3Fn, 465.0).is_nan());
        assert_eq!(round_to(DType::Float8E5M2, 1e9), f64::INFINITY);
        // The smallest subnormal is 2^-9; half of it goes to zero.
        assert_eq!(round_to(DType::Float8E4M3Fn, 2_f64.powi(-9)), 2_f64.powi(-9));
        assert_eq!(round_to(DType::Float8E4M3Fn, 2_f64.powi(-10)), 0.0);
        assert_eq!(round_to(DType::Float8E4M3FnUz, -1e-9), 0.0);
        // A hair beyond a tie is none.
        for (dtype, tie, up) in [
            (DType::BFloat16, 1.0 + 2_f64.powi(-8), 1.0 + 2_f64.powi(-7)),
            (DType::Float16, 1.0 + 2_f64.powi(-11), 1.0 + 2_f64.powi(-10)),
        ] {
            for hair in [2_f64.powi(-23), 2_f64.powi(-24), 2_f64.powi(-40), 2_f64.powi(-52)] {
                assert_eq!(round_to(dtype, tie), 1.0);
                assert_eq!(round_to(dtype, tie + hair), up, "{dtype} {hair}");
                assert_eq!(round_to(dtype, -tie - hair), -up, "{dtype} {hair}");
                assert_eq!(round_to(dtype, tie - hair), 1.0, "{dtype} {hair}");
            }
        }
        assert_eq!(round_to(DType::BFloat16, 1.0 + 2_f64.powi(-8)), 1.0);
    }

    #[test]
    fn whole_numbers_are_exact_and_held() {
        let mut bytes = [0; 8];
        put_int(DType::Int64, &mut bytes, 0, (1 << 60) + 1);
        assert_eq!(get_int(DType::Int64, &bytes, 0), (1 << 60) + 1);
        put(DType::Int8, &mut bytes, 0, -300.7);
        assert_eq!(get_int(DType::Int8, &bytes, 0), -128);
        put(DType::Int32, &mut bytes, 1, -3.9);
        assert_eq!(get(DType::Int32, &bytes, 1), -3.0);
    }
}
