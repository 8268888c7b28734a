//! Codes about the roofline field.

codes! {
    ROOFLINE_MODE = "roofline-mode", Error, "A roofline mixes inline formulas with `func`, or has neither";
}
