//! The dtypes that a tensor can have.

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
    /// The name that `category(x)` gives.
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
        /// A dtype, by PyTorch's name for it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DType {
            $(#[doc = concat!("`", $name, "`, ", stringify!($bits), " bits.")] $variant,)*
        }

        impl DType {
            /// Every dtype, in the order of the reference.
            pub const ALL: &'static [DType] = &[$(DType::$variant),*];

            /// The name.
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

            /// The dtype called `name`.
            pub fn from_name(name: &str) -> Option<DType> {
                match name { $($name => Some(DType::$variant),)* _ => None }
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

/// Other names of dtypes, PyTorch's own and those that papers use.
const ALIASES: &[(&str, DType)] = &[
    ("half", DType::Float16),
    ("float", DType::Float32),
    ("double", DType::Float64),
    ("short", DType::Int16),
    ("int", DType::Int32),
    ("long", DType::Int64),
    ("cfloat", DType::Complex64),
    ("cdouble", DType::Complex128),
    ("fp16", DType::Float16),
    ("f16", DType::Float16),
    ("bf16", DType::BFloat16),
    ("fp32", DType::Float32),
    ("f32", DType::Float32),
    ("fp64", DType::Float64),
    ("f64", DType::Float64),
    ("fp8_e4m3", DType::Float8E4M3Fn),
    ("fp8_e5m2", DType::Float8E5M2),
    ("i8", DType::Int8),
    ("u8", DType::UInt8),
    ("i32", DType::Int32),
    ("i64", DType::Int64),
];

impl DType {
    /// The dtype that is called `name` elsewhere: `half`, `bf16`. It has one name in the language.
    pub fn from_alias(name: &str) -> Option<DType> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, dtype)| *dtype)
    }
}

/// A set of dtypes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DTypeSet(u32);

impl DTypeSet {
    /// No dtype.
    pub const EMPTY: DTypeSet = DTypeSet(0);
    /// Every dtype.
    pub const ALL: DTypeSet = DTypeSet((1 << DType::ALL.len()) - 1);

    /// Whether `dtype` is a member.
    pub fn contains(self, dtype: DType) -> bool {
        self.0 & (1 << dtype as u32) != 0
    }

    /// With `dtype`.
    #[must_use]
    pub fn with(self, dtype: DType) -> DTypeSet {
        DTypeSet(self.0 | (1 << dtype as u32))
    }

    /// The members of either.
    #[must_use]
    pub fn union(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 | other.0)
    }

    /// The members of both.
    #[must_use]
    pub fn intersection(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 & other.0)
    }

    /// The members that `other` has not.
    #[must_use]
    pub fn difference(self, other: DTypeSet) -> DTypeSet {
        DTypeSet(self.0 & !other.0)
    }

    /// Whether it has no member.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many members it has.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The members, in the order of the reference.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        DType::ALL.iter().copied().filter(move |&d| self.contains(d))
    }
}

impl FromIterator<DType> for DTypeSet {
    fn from_iter<I: IntoIterator<Item = DType>>(iter: I) -> Self {
        iter.into_iter().fold(DTypeSet::EMPTY, DTypeSet::with)
    }
}
