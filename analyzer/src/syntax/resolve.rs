//! What a scalar's text means to the two families of YAML readers.
//!
//! The YAML 1.1 side follows the implicit resolvers and constructors of PyYAML's `SafeLoader`; the YAML 1.2 side the
//! core schema, which serde's readers and most others implement.

use super::ScalarValue;

/// A date or a time.
const DATE: &str = "a date";
/// An integer that 128 bits do not hold.
const HUGE: &str = "an integer beyond 128 bits";
/// A scalar that PyYAML's safe loader has no value for: `=`, `<<` outside a key, `0x_`.
const REFUSED: &str = "a scalar that PyYAML refuses";

/// What PyYAML reads a plain scalar as, and what a YAML 1.2 reader does if that is something else.
pub(super) fn plain(text: &str) -> (ScalarValue, Option<ScalarValue>) {
    let (yaml11, yaml12) = (yaml11(text), yaml12(text));
    let same = match (&yaml11, &yaml12) {
        (ScalarValue::Float(a), ScalarValue::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
        (a, b) => a == b,
    };
    (yaml11, (!same).then_some(yaml12))
}

/// A scalar with one of the core tags of YAML 1.1, as PyYAML constructs it; nothing for a tag that is none of those or
/// a text that does not fit it.
pub(super) fn tagged(tag: &str, text: &str) -> Option<ScalarValue> {
    match tag.strip_prefix("tag:yaml.org,2002:")? {
        "str" => Some(ScalarValue::Str),
        "null" => Some(ScalarValue::Null),
        "bool" => boolean11(&text.to_ascii_lowercase()).map(ScalarValue::Bool),
        "int" => {
            is_int11(text.as_bytes()).then(|| int11(text)).filter(|value| !matches!(value, ScalarValue::Other(REFUSED)))
        }
        "float" if is_float11(text.as_bytes()) => Some(ScalarValue::Float(float11(text))),
        "float" => text.parse().ok().map(ScalarValue::Float),
        _ => None,
    }
}

fn yaml11(text: &str) -> ScalarValue {
    let bytes = text.as_bytes();
    match bytes.first() {
        None => ScalarValue::Null,
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => match text {
            "~" | "null" | "Null" | "NULL" => ScalarValue::Null,
            _ => boolean11(text).map_or(ScalarValue::Str, ScalarValue::Bool),
        },
        Some(b'-' | b'+' | b'.' | b'0'..=b'9') => {
            if is_float11(bytes) {
                ScalarValue::Float(float11(text))
            } else if is_int11(bytes) {
                int11(text)
            } else if is_timestamp11(bytes) {
                ScalarValue::Other(DATE)
            } else {
                ScalarValue::Str
            }
        }
        Some(b'=') if text == "=" => ScalarValue::Other(REFUSED),
        Some(b'<') if text == "<<" => ScalarValue::Other(REFUSED),
        Some(_) => ScalarValue::Str,
    }
}

fn boolean11(text: &str) -> Option<bool> {
    match text {
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Some(true),
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Drops one sign.
fn unsigned(bytes: &[u8]) -> &[u8] {
    match bytes {
        [b'+' | b'-', rest @ ..] => rest,
        _ => bytes,
    }
}

/// The longest prefix whose bytes satisfy `accept`, and the rest.
fn split_while(bytes: &[u8], accept: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let end = bytes.iter().position(|&b| !accept(b)).unwrap_or(bytes.len());
    bytes.split_at(end)
}

fn digit_or_underscore(b: u8) -> bool {
    b.is_ascii_digit() || b == b'_'
}

/// `(:[0-5]?[0-9])+` at the start; what follows it, if it is there.
fn sexagesimal_tail(mut bytes: &[u8]) -> Option<&[u8]> {
    let mut seen = false;
    while let [b':', rest @ ..] = bytes {
        bytes = match rest {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] => rest,
            [b'0'..=b'9', rest @ ..] => rest,
            _ => return None,
        };
        seen = true;
    }
    seen.then_some(bytes)
}

/// Nothing, or `[eE][-+][0-9]+` and nothing else.
fn exponent11_or_end(bytes: &[u8]) -> bool {
    match bytes {
        [] => true,
        [b'e' | b'E', b'+' | b'-', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

fn is_float11(bytes: &[u8]) -> bool {
    if matches!(bytes, b".nan" | b".NaN" | b".NAN") || matches!(unsigned(bytes), b".inf" | b".Inf" | b".INF") {
        return true;
    }
    if let [b'.', b'0'..=b'9', rest @ ..] = bytes {
        return exponent11_or_end(split_while(rest, digit_or_underscore).1);
    }
    let body = unsigned(bytes);
    if !body.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let (_, rest) = split_while(body, digit_or_underscore);
    if let [b'.', rest @ ..] = rest {
        return exponent11_or_end(split_while(rest, digit_or_underscore).1);
    }
    match sexagesimal_tail(rest) {
        Some([b'.', rest @ ..]) => rest.iter().all(|&b| digit_or_underscore(b)),
        _ => false,
    }
}

fn float11(text: &str) -> f64 {
    let text = text.replace('_', "").to_ascii_lowercase();
    let (sign, body) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, &text[..]),
    };
    let value = match body {
        ".inf" => f64::INFINITY,
        ".nan" => f64::NAN,
        _ if body.contains(':') => {
            let mut base = 1.0;
            let mut value = 0.0;
            for part in body.rsplit(':') {
                value += part.parse::<f64>().unwrap_or(f64::NAN) * base;
                base *= 60.0;
            }
            value
        }
        _ => body.parse().unwrap_or(f64::NAN),
    };
    sign * value
}

fn is_int11(bytes: &[u8]) -> bool {
    match unsigned(bytes) {
        [b'0', b'b', digits @ ..] => !digits.is_empty() && digits.iter().all(|b| matches!(b, b'0' | b'1' | b'_')),
        [b'0', b'x', digits @ ..] => !digits.is_empty() && digits.iter().all(|&b| b.is_ascii_hexdigit() || b == b'_'),
        [b'0', digits @ ..] => digits.iter().all(|b| matches!(b, b'0'..=b'7' | b'_')),
        body @ [b'1'..=b'9', ..] => {
            let (_, rest) = split_while(body, digit_or_underscore);
            rest.is_empty() || sexagesimal_tail(rest) == Some(&[])
        }
        _ => false,
    }
}

fn int11(text: &str) -> ScalarValue {
    let text = text.replace('_', "");
    let (negative, body) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, &text[..]),
    };
    let (digits, radix) = match body.as_bytes() {
        [b'0', b'b', ..] => (&body[2..], 2),
        [b'0', b'x', ..] => (&body[2..], 16),
        [b'0', _, ..] => (body, 8),
        _ => (body, 10),
    };
    if digits.is_empty() {
        return ScalarValue::Other(REFUSED);
    }
    let value = if digits.contains(':') {
        digits.split(':').try_fold(0i128, |value, part| value.checked_mul(60)?.checked_add(part.parse().ok()?))
    } else {
        i128::from_str_radix(digits, radix).ok()
    };
    match value {
        Some(value) => ScalarValue::Int(if negative { -value } else { value }),
        None => ScalarValue::Other(HUGE),
    }
}

/// `count` digits, at least `min` of them.
fn digits(bytes: &[u8], min: usize, max: usize) -> Option<&[u8]> {
    let count = bytes.iter().take(max).take_while(|b| b.is_ascii_digit()).count();
    (count >= min).then(|| &bytes[count..])
}

fn byte(bytes: &[u8], wanted: u8) -> Option<&[u8]> {
    bytes.strip_prefix(&[wanted])
}

fn is_timestamp11(bytes: &[u8]) -> bool {
    fn date(bytes: &[u8]) -> Option<bool> {
        let rest = byte(digits(bytes, 4, 4)?, b'-')?;
        if let Some([]) = digits(rest, 2, 2).and_then(|rest| byte(rest, b'-')).and_then(|rest| digits(rest, 2, 2)) {
            return Some(true);
        }
        let rest = digits(byte(digits(rest, 1, 2)?, b'-')?, 1, 2)?;
        let rest = match rest {
            [b't' | b'T', rest @ ..] => rest,
            [b' ' | b'\t', ..] => split_while(rest, |b| matches!(b, b' ' | b'\t')).1,
            _ => return None,
        };
        let rest = digits(byte(digits(rest, 1, 2)?, b':')?, 2, 2)?;
        let rest = digits(byte(rest, b':')?, 2, 2)?;
        let rest = byte(rest, b'.').map_or(rest, |rest| split_while(rest, |b| b.is_ascii_digit()).1);
        let zone = split_while(rest, |b| matches!(b, b' ' | b'\t')).1;
        Some(match zone {
            [] => rest.is_empty(),
            [b'Z'] => true,
            [b'+' | b'-', zone @ ..] => {
                let rest = digits(zone, 1, 2)?;
                rest.is_empty() || byte(rest, b':').and_then(|rest| digits(rest, 2, 2)) == Some(&[])
            }
            _ => false,
        })
    }
    date(bytes).unwrap_or(false)
}

fn yaml12(text: &str) -> ScalarValue {
    let bytes = text.as_bytes();
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return ScalarValue::Null,
        "true" | "True" | "TRUE" => return ScalarValue::Bool(true),
        "false" | "False" | "FALSE" => return ScalarValue::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return ScalarValue::Float(f64::NAN),
        _ => {}
    }
    if !matches!(bytes.first(), Some(b'-' | b'+' | b'.' | b'0'..=b'9')) {
        return ScalarValue::Str;
    }
    let int = |digits: &str, radix, negative: bool| {
        let value = i128::from_str_radix(digits, radix).ok().map(|value| if negative { -value } else { value });
        value.map_or(ScalarValue::Other(HUGE), ScalarValue::Int)
    };
    match bytes {
        [b'0', b'o', digits @ ..] if !digits.is_empty() && digits.iter().all(|b| matches!(b, b'0'..=b'7')) => {
            return int(&text[2..], 8, false);
        }
        [b'0', b'x', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) => {
            return int(&text[2..], 16, false);
        }
        _ => {}
    }
    let body = unsigned(bytes);
    let negative = bytes.first() == Some(&b'-');
    if matches!(body, b".inf" | b".Inf" | b".INF") {
        return ScalarValue::Float(if negative { f64::NEG_INFINITY } else { f64::INFINITY });
    }
    // The sign and the digits before it are ASCII, so this is a character boundary.
    let body_text = &text[text.len() - body.len()..];
    if !body.is_empty() && body.iter().all(u8::is_ascii_digit) {
        return int(body_text, 10, negative);
    }
    let (whole, rest) = split_while(body, |b| b.is_ascii_digit());
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_while(rest, |b| b.is_ascii_digit()),
        _ => (&[][..], rest),
    };
    let exponent = match rest {
        [] => true,
        [b'e' | b'E', rest @ ..] => {
            let digits = unsigned(rest);
            !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    if exponent && !(whole.is_empty() && fraction.is_empty()) {
        return text.parse().map_or(ScalarValue::Str, ScalarValue::Float);
    }
    ScalarValue::Str
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarValue::{Bool, Float, Int, Null, Other, Str};

    #[test]
    fn both_families_agree_on_the_plain_forms() {
        for (text, value) in [
            ("", Null),
            ("~", Null),
            ("null", Null),
            ("true", Bool(true)),
            ("False", Bool(false)),
            ("0", Int(0)),
            ("-12", Int(-12)),
            ("+3", Int(3)),
            ("0x1F", Int(31)),
            ("0.5", Float(0.5)),
            (".5", Float(0.5)),
            ("1.", Float(1.0)),
            ("1.0e-6", Float(1e-6)),
            ("-.inf", Float(f64::NEG_INFINITY)),
            ("N", Str),
            ("Y", Str),
            ("y", Str),
            ("-", Str),
            ("1a", Str),
            (".", Str),
            ("inf", Str),
            ("float16 | bfloat16", Str),
            ("99999999999999999999999999999999999999999", Other(HUGE)),
        ] {
            assert_eq!(plain(text), (value, None), "{text}");
        }
        assert!(matches!(plain(".nan"), (Float(nan), None) if nan.is_nan()));
    }

    #[test]
    fn the_two_families_disagree() {
        for (text, yaml11, yaml12) in [
            ("yes", Bool(true), Str),
            ("OFF", Bool(false), Str),
            ("010", Int(8), Int(10)),
            ("08", Str, Int(8)),
            ("0o17", Str, Int(15)),
            ("0b11", Int(3), Str),
            ("-0x1F", Int(-31), Str),
            ("1_000", Int(1000), Str),
            ("1:30", Int(90), Str),
            ("-1:30", Int(-90), Str),
            ("1:30.5", Float(90.5), Str),
            ("1e-6", Str, Float(1e-6)),
            ("4800e9", Str, Float(4800e9)),
            ("1.5e3", Str, Float(1500.0)),
            ("-.5", Str, Float(-0.5)),
            ("1_0.5", Float(10.5), Str),
            ("2026-01-01", Other(DATE), Str),
            ("2026-1-1 1:02:03.4 +1:30", Other(DATE), Str),
            ("2026-01-01T00:00:00Z", Other(DATE), Str),
            ("=", Other(REFUSED), Str),
            ("<<", Other(REFUSED), Str),
            ("0x_", Other(REFUSED), Str),
        ] {
            assert_eq!(plain(text), (yaml11, Some(yaml12)), "{text}");
        }
    }
}
