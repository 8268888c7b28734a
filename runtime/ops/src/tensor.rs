//! Tensors: descriptions, with values or storage where there are any.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::{DType, Failure, Int};

/// A tensor's extents.
pub type Shape = Vec<i128>;

/// Memory that holds a tensor's elements, row-major and packed: on the host, on a GPU.
///
/// An implementation knows the storage that it runs on, and reaches it through [`Storage::as_any`]. Storage that a call
/// writes (a mutated input, `out`) has interior mutability: tensors share it.
pub trait Storage: Any + fmt::Debug + Send + Sync {
    /// Its size in bytes.
    fn nbytes(&self) -> usize;
    /// Itself, for a downcast to the type that an implementation knows.
    fn as_any(&self) -> &dyn Any;
}

/// A tensor, or the description of one.
///
/// ```
/// use tileops_ops::{DType, Tensor};
///
/// let x = Tensor::new([4, 4096], DType::BFloat16);
/// assert_eq!(x.nbytes(), Ok(32_768));
/// assert_eq!(x.to_string(), "bfloat16[4, 4096]");
/// ```
#[derive(Debug, Clone)]
pub struct Tensor {
    /// The extents.
    pub shape: Shape,
    /// The dtype.
    pub dtype: DType,
    /// The contents, row-major, of a metadata tensor whose values are known: offsets, a routing, a page table.
    pub values: Option<Arc<[i64]>>,
    /// The elements; nothing for a description.
    pub storage: Option<Arc<dyn Storage>>,
}

impl Tensor {
    /// The description of a tensor.
    pub fn new(shape: impl Into<Shape>, dtype: DType) -> Self {
        Tensor { shape: shape.into(), dtype, values: None, storage: None }
    }

    /// With known contents.
    #[must_use]
    pub fn with_values(mut self, values: impl Into<Arc<[i64]>>) -> Self {
        self.values = Some(values.into());
        self
    }

    /// With elements.
    #[must_use]
    pub fn with_storage(mut self, storage: Arc<dyn Storage>) -> Self {
        self.storage = Some(storage);
        self
    }

    /// Without elements: what is remembered of it.
    #[must_use]
    pub fn described(&self) -> Self {
        Tensor { storage: None, ..self.clone() }
    }

    /// How many elements it has.
    pub fn numel(&self) -> Int {
        // Python would multiply beyond 128 bits and come back to zero.
        if self.shape.contains(&0) {
            return Int::from(0);
        }
        self.shape.iter().fold(Int::from(1), |product, &extent| product * extent)
    }

    /// Its size in bytes: `ceil(prod(shape) * bits / 8)`.
    pub fn nbytes(&self) -> Result<i128, Failure> {
        (self.numel() * i128::from(self.dtype.bits())).ceil_div(8).get()
    }

    /// Whether shape and dtype are the other's.
    pub fn is_alike(&self, other: &Tensor) -> bool {
        self.shape == other.shape && self.dtype == other.dtype
    }

    /// Whether both are the same storage.
    pub fn shares_storage(&self, other: &Tensor) -> bool {
        matches!((&self.storage, &other.storage), (Some(a), Some(b)) if Arc::ptr_eq(a, b))
    }
}

/// `bfloat16[4, 4096]`
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, show(&self.shape))
    }
}

/// `[4, 4096]`
pub(crate) fn show(shape: &[i128]) -> String {
    let extents: Vec<String> = shape.iter().map(i128::to_string).collect();
    format!("[{}]", extents.join(", "))
}
