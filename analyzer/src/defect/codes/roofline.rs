//! Codes about the roofline field.

codes! {
    ROOFLINE_MODE = "roofline-mode", Error, "A roofline mixes inline formulas with `func`, or has neither",
        None "whether formulas or a function are meant, and which formula is missing, is for its author to say";
    FORMULA_PATH = "formula-path", Error, "A roofline's `func` is not the path of a formula",
        Fix "puts the package before the function's name";
    UNKNOWN_FORMULA = "unknown-formula", Error, "A roofline's `func` names a function that does not exist",
        Fix "writes the nearest function";
    UNSIZED_TENSOR = "unsized-tensor", Error, "A roofline reads the size of a tensor that may be absent",
        Fix "reads the size where the tensor is present";
}
