//! Codes about the roofline field.

codes! {
    ROOFLINE_MODE = "roofline-mode", Error, "A roofline mixes inline formulas with `func`, or has neither";
    FORMULA_PATH = "formula-path", Error, "A roofline's `func` is not the path of a formula";
    UNKNOWN_FORMULA = "unknown-formula", Error, "A roofline's `func` names a function that does not exist";
    UNSIZED_TENSOR = "unsized-tensor", Error, "A roofline reads the size of a tensor that may be absent";
}
