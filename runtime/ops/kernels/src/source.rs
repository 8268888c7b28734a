//! CUDA C++ with definitions in front of it.

use std::fmt::Write as _;

use tileops_ops::DType;

/// CUDA C++, specialised by definitions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The file's name, which errors say.
    pub file: &'static str,
    text: &'static str,
    headers: Vec<(&'static str, &'static str)>,
    defines: Vec<(&'static str, String)>,
}

/// What every kernel may use: dtypes and their conversions, vectors, reductions of warps and blocks.
const COMMON: &str = include_str!("cu/common.cuh");

impl Source {
    /// The file called `file`, with this text.
    pub const fn new(file: &'static str, text: &'static str) -> Self {
        Source { file, text, headers: Vec::new(), defines: Vec::new() }
    }

    /// With the header called `file` in front of the text.
    #[must_use]
    pub fn with(mut self, file: &'static str, text: &'static str) -> Self {
        self.headers.push((file, text));
        self
    }

    /// With `name` defined as `value`.
    #[must_use]
    pub fn define(mut self, name: &'static str, value: impl ToString) -> Self {
        self.defines.push((name, value.to_string()));
        self
    }

    /// With `name` defined as the C++ type that has `dtype`'s elements.
    #[must_use]
    pub fn element(self, name: &'static str, dtype: DType) -> Self {
        self.define(name, element(dtype))
    }

    /// The whole text: what every kernel may use and the headers, which know none of the definitions, then these and the
    /// source's own text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        for (file, part) in [("common.cuh", COMMON)].iter().chain(&self.headers) {
            let _ = writeln!(text, "#line 1 \"{file}\"\n{part}");
        }
        for (name, value) in &self.defines {
            let _ = writeln!(text, "#define {name} {value}");
        }
        let _ = write!(text, "#line 1 \"{}\"\n{}", self.file, self.text);
        text
    }
}

/// The C++ type of a dtype's elements, as `common.cuh` has it.
fn element(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "bool",
        DType::Int8 => "signed char",
        DType::UInt8 => "unsigned char",
        DType::Int16 => "short",
        DType::UInt16 => "unsigned short",
        DType::Int32 => "int",
        DType::UInt32 => "unsigned int",
        DType::Int64 => "long long",
        DType::UInt64 => "unsigned long long",
        DType::Float16 => "__half",
        DType::BFloat16 => "__nv_bfloat16",
        DType::Float32 => "float",
        DType::Float64 => "double",
        DType::Complex64 => "float2",
        DType::Complex128 => "double2",
        DType::Float8E4M3Fn | DType::Float8E4M3FnUz => "__nv_fp8_e4m3",
        DType::Float8E5M2 | DType::Float8E5M2FnUz => "__nv_fp8_e5m2",
        DType::Float8E8M0FnU => "__nv_fp8_e8m0",
    }
}
