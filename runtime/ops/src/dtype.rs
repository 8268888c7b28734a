//! The dtypes that a tensor can have.

use std::fmt;

/// What numbers a dtype or a value holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// True and false.
    Bool,
    /// Integers.
    Int,
    /// Real numbers.
    Float,
    /// Complex numbers.
    Complex,
}

impl Category {
    /// The name that the manifest language gives it.
    pub fn name(self) -> &'static str {
        match self {
            Category::Bool => "bool",
            Category::Int => "int",
            Category::Float => "float",
            Category::Complex => "complex",
        }
    }
}

macro_rules! dtypes {
    ($($variant:ident = $name:literal, $bits:literal, $category:ident;)*) => {
        /// A dtype, by PyTorch's name for it. A test holds the table to the analyzer's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`, ", stringify!($bits), " bits.")] $variant,)*
        }

        impl DType {
            /// Every dtype.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// PyTorch's name.
            pub fn name(self) -> &'static str {
                match self { $(DType::$variant => $name,)* }
            }

            /// The size of one element, in bits.
            pub fn bits(self) -> u32 {
                match self { $(DType::$variant => $bits,)* }
            }

            /// What numbers it holds.
            pub fn category(self) -> Category {
                match self { $(DType::$variant => Category::$category,)* }
            }

            /// The dtype called `name`, with or without `torch.` before it.
            pub fn from_name(name: &str) -> Option<DType> {
                match name.strip_prefix("torch.").unwrap_or(name) {
                    $($name => Some(DType::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

dtypes! {
    Bool = "bool", 8, Bool;
    Int8 = "int8", 8, Int;
    UInt8 = "uint8", 8, Int;
    Int16 = "int16", 16, Int;
    UInt16 = "uint16", 16, Int;
    Int32 = "int32", 32, Int;
    UInt32 = "uint32", 32, Int;
    Int64 = "int64", 64, Int;
    UInt64 = "uint64", 64, Int;
    Float16 = "float16", 16, Float;
    BFloat16 = "bfloat16", 16, Float;
    Float32 = "float32", 32, Float;
    Float64 = "float64", 64, Float;
    Complex64 = "complex64", 64, Complex;
    Complex128 = "complex128", 128, Complex;
    Float8E4M3Fn = "float8_e4m3fn", 8, Float;
    Float8E4M3FnUz = "float8_e4m3fnuz", 8, Float;
    Float8E5M2 = "float8_e5m2", 8, Float;
    Float8E5M2FnUz = "float8_e5m2fnuz", 8, Float;
    Float8E8M0FnU = "float8_e8m0fnu", 8, Float;
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
