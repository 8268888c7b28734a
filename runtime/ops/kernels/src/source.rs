//! CUDA C++ with definitions in front of it.

use std::fmt::Write as _;

use tileops_ops::DType;

/// CUDA C++, specialised by definitions.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Source {
    /// The file's name, which errors say.
    pub file: &'static str,
    text: &'static str,
    headers: Vec<Header>,
    defines: Vec<(&'static str, String)>,
}

/// CUDA C++ that several sources have in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    file: &'static str,
    text: &'static str,
    /// Whether it is specialised by the source's definitions, as the source itself is.
    is_specialized: bool,
}

impl Header {
    const fn new(file: &'static str, text: &'static str) -> Self {
        Header { file, text, is_specialized: false }
    }

    const fn specialized(file: &'static str, text: &'static str) -> Self {
        Header { file, text, is_specialized: true }
    }
}

/// What every kernel may use: conversions of elements, powers of two and logarithms, extremes, vectors and how they are stored, divisions
/// that are prepared.
const COMMON: Header = Header::new("common.cuh", include_str!("cu/common.cuh"));
/// Copies to shared memory that go on while a kernel computes.
pub(crate) const COPIES: Header = Header::new("copies.cuh", include_str!("cu/copies.cuh"));
/// Means and sums of squared distances, and how two of them are joined.
pub(crate) const MOMENTS: Header = Header::new("moments.cuh", include_str!("cu/moments.cuh"));
/// Products of a warp by tensor cores, and what loads and packs their operands.
pub(crate) const MMA: Header = Header::new("mma.cuh", include_str!("cu/mma.cuh"));
/// Asynchronous products of a warpgroup.
pub(crate) const WGMMA: Header = Header::new("wgmma.cuh", include_str!("cu/wgmma.cuh"));
/// Rows that are held in registers, and what is computed over the lanes, warps and blocks that share one.
pub(crate) const ROW: Header = Header::specialized("row.cuh", include_str!("cu/row.cuh"));
/// Numbers made narrow.
pub(crate) const NARROW: Header = Header::specialized("narrow.cuh", include_str!("cu/narrow.cuh"));
/// Functions of elements.
pub(crate) const ELEMENTWISE: Header = Header::specialized("elementwise.cuh", include_str!("cu/elementwise.cuh"));
/// What kernels of attention share.
pub(crate) const ATTENTION: Header = Header::specialized("attention.cuh", include_str!("cu/attention.cuh"));
/// What kernels of groups share.
pub(crate) const GROUPED: Header = Header::specialized("grouped.cuh", include_str!("cu/grouped.cuh"));

impl Source {
    /// The file called `file`, with this text.
    pub const fn new(file: &'static str, text: &'static str) -> Self {
        Source { file, text, headers: Vec::new(), defines: Vec::new() }
    }

    /// With a header in front of the text.
    #[must_use]
    pub fn with(mut self, header: Header) -> Self {
        self.headers.push(header);
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

    /// With `name` defined as what instructions of tensor cores call `dtype`'s 16-bit elements, in quotes.
    #[must_use]
    pub(crate) fn multiplied(self, name: &'static str, dtype: DType) -> Self {
        self.define(name, if dtype == DType::Float16 { "\"f16\"" } else { "\"bf16\"" })
    }

    /// How many blocks are a cluster of its kernel, as its definitions say.
    pub(crate) fn blocks_of_cluster(&self) -> u32 {
        let defined = self.defines.iter().find(|(name, _)| *name == "CLUSTER");
        defined.and_then(|(_, blocks)| blocks.parse().ok()).unwrap_or(1)
    }

    /// The whole text: what every kernel may use and the headers that know none of the definitions, then these, the headers
    /// that are specialised by them, and the source's own text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let add = |text: &mut String, file: &str, part: &str| {
            // Writing to a string does not fail.
            let _ = writeln!(text, "#line 1 \"{file}\"\n{part}");
        };
        let of = |is_specialized| self.headers.iter().filter(move |header| header.is_specialized == is_specialized);
        for header in [COMMON].iter().chain(of(false)) {
            add(&mut text, header.file, header.text);
        }
        for (name, value) in &self.defines {
            let _ = writeln!(text, "#define {name} {value}");
        }
        for header in of(true) {
            add(&mut text, header.file, header.text);
        }
        add(&mut text, self.file, self.text);
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
