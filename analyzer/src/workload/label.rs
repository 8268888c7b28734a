//! Labels and case ids.

use std::sync::Arc;

use crate::lang::{DType, Value};

/// The most characters that a label has: it is part of file names and of table columns.
pub const MAX_LABEL: usize = 28;

/// The id of a case: the label, the dtype case's values in the order of `forall`, then the dtype parameters' values in
/// the order of `params`, those that are absent left out; joined by `-`.
pub fn case_id(label: &str, dtypes: &[(Arc<str>, DType)], dtype_params: &[&Value]) -> String {
    let mut id = label.to_owned();
    let params = dtype_params.iter().filter_map(|value| match value {
        Value::DType(dtype) => Some(dtype.name()),
        _ => None,
    });
    for part in dtypes.iter().map(|(_, dtype)| dtype.name()).chain(params) {
        id.push('-');
        id.push_str(part);
    }
    id
}

/// What is wrong with a label, and what would be right; nothing where it is well-formed.
pub(super) fn label_fault(label: &str) -> Option<(String, String)> {
    const FORM: &str = "letters, digits, `.`, `_` and `-`";
    if label.is_empty() {
        return Some(("the label is empty".to_owned(), format!("a label is 1 to {MAX_LABEL} {FORM}")));
    }
    if let Some(bad) = label.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))) {
        let shown = if bad == ' ' { "a space".to_owned() } else { format!("`{}`", bad.escape_debug()) };
        return Some((format!("the label has {shown} in it"), format!("a label is made of {FORM}")));
    }
    let length = label.chars().count();
    (length > MAX_LABEL)
        .then(|| (format!("the label has {length} characters"), format!("a label has at most {MAX_LABEL} characters")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_label_then_case_then_parameters() {
        let case = [(Arc::from("T"), DType::Float16), (Arc::from("U"), DType::Int32)];
        let params = [&Value::DType(DType::Float32), &Value::None];
        assert_eq!(case_id("big", &case, &params), "big-float16-int32-float32");
        assert_eq!(case_id("big", &[], &[]), "big");
    }

    #[test]
    fn labels_have_a_form_and_a_length() {
        for right in ["a", "llama-8b_4k.x", &"a".repeat(MAX_LABEL)] {
            assert_eq!(label_fault(right), None, "{right}");
        }
        for wrong in ["", "a b", "é", "a/b", "a\n", &"a".repeat(MAX_LABEL + 1)] {
            assert!(label_fault(wrong).is_some(), "{wrong}");
        }
    }
}
