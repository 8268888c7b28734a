//! Numbers as people read them at a glance.

/// 1,536 bytes as `1.54 kB`: three significant digits and an SI prefix.
pub fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = value;
    let mut prefix = 0;
    while value.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = if prefix == 0 && value.fract() == 0.0 {
        0
    } else if value.abs() < 9.995 {
        2
    } else if value.abs() < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}{unit}", PREFIXES[prefix])
}

/// Nanoseconds as `950 ns`, `12.5 µs`, `1.86 ms` or `2.10 s`.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n < 999.5 => (ns, "ns"),
        n if n < 999.5e3 => (ns / 1e3, "µs"),
        n if n < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    si(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_at_a_glance() {
        assert_eq!(si(1536.0, "B"), "1.54 kB");
        assert_eq!(si(512.0, "B"), "512 B");
        assert_eq!(si(100_663_296.0, "B"), "101 MB");
        assert_eq!(time(12_500.0), "12.5 µs");
        assert_eq!(time(999_700.0), "1.00 ms");
        assert_eq!(time(950.0), "950 ns");
        assert_eq!(time(999.7), "1.00 µs");
        assert_eq!(time(2.1e9), "2.10 s");
    }
}
