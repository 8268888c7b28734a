//! How messages quote what the manifest says.

use crate::expr::Expr;

/// A message stays on a line or two: longer texts are cut.
const LONGEST: usize = 60;

/// The expression in backticks, cut where it is long.
pub(crate) fn show(expr: &Expr) -> String {
    format!("`{}`", cut(&expr.to_string()))
}

/// `text` on one line, cut where it is long.
pub(crate) fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(LONGEST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        cut.push('…');
    }
    cut
}
