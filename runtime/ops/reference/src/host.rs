//! Tensors' elements in the host's memory.

use std::any::Any;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tileops_ops::{DType, Storage};

use crate::number::{get, get_int};

/// The elements of a tensor, row-major and packed, in the host's memory.
#[derive(Debug)]
pub struct Host(RwLock<Vec<u8>>);

impl Host {
    /// Elements as their bytes, in the machine's order.
    pub fn new(bytes: Vec<u8>) -> Arc<Self> {
        Arc::new(Host(RwLock::new(bytes)))
    }

    /// The bytes. A thread that panicked while it wrote left them written in part, which is what they then are.
    pub fn read(&self) -> RwLockReadGuard<'_, Vec<u8>> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// The bytes, to be written.
    pub fn write(&self) -> RwLockWriteGuard<'_, Vec<u8>> {
        self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Storage for Host {
    fn nbytes(&self) -> usize {
        self.read().len()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Elements to be read: their dtype, their extents, their bytes.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The dtype.
    pub dtype: DType,
    /// The extents.
    pub shape: &'a [i128],
    /// The elements, row-major and packed.
    pub bytes: &'a [u8],
}

impl View<'_> {
    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.bytes.len() * 8 / self.dtype.bits() as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The extent of an axis as a size; `axis` counts from the first.
    pub fn extent(&self, axis: usize) -> usize {
        usize::try_from(self.shape[axis]).unwrap_or(0)
    }

    /// Element `at` of the flattened tensor. A whole number beyond 2^53 is rounded; see [`View::int`].
    pub fn get(&self, at: usize) -> f64 {
        get(self.dtype, self.bytes, at)
    }

    /// Element `at`, of a dtype of whole numbers or Booleans.
    pub fn int(&self, at: usize) -> i128 {
        get_int(self.dtype, self.bytes, at)
    }

    /// As many elements as `to` has, from `start` on.
    pub fn read(&self, start: usize, to: &mut [f64]) {
        macro_rules! decode {
            ($type:ty, $number:expr) => {{
                let width = size_of::<$type>();
                let bytes = &self.bytes[start * width..(start + to.len()) * width];
                for (value, bytes) in to.iter_mut().zip(bytes.chunks_exact(width)) {
                    let mut element = [0; size_of::<$type>()];
                    element.copy_from_slice(bytes);
                    *value = $number(element);
                }
            }};
        }
        match self.dtype {
            // The high half of a float32.
            DType::BFloat16 => decode!(u16, |e| f64::from(f32::from_bits(u32::from(u16::from_ne_bytes(e)) << 16))),
            DType::Float16 => decode!(u16, |e| half::f16::from_ne_bytes(e).to_f64()),
            DType::Float32 => decode!(f32, |e| f64::from(f32::from_ne_bytes(e))),
            _ => to.iter_mut().enumerate().for_each(|(at, value)| *value = self.get(start + at)),
        }
    }

    /// `count` elements from `start` on.
    pub fn row(&self, start: usize, count: usize) -> Vec<f64> {
        (start..start + count).map(|at| self.get(at)).collect()
    }
}
