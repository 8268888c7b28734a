//! The facts of a GPU that a plan depends on.

use tileops_device::Facts;

/// The facts of a GPU that a plan depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The architecture that kernels are compiled for.
    pub architecture: String,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that a block may ask for, in bytes.
    pub shared_bytes: u32,
    /// The L2 cache, in bytes.
    pub l2_bytes: u64,
}

impl Gpu {
    /// The H200, by its data sheet: what kernels are compiled for where there is no GPU.
    pub fn h200() -> Self {
        Gpu { architecture: "sm_90a".to_owned(), multiprocessors: 132, shared_bytes: 232_448, l2_bytes: 62_914_560 }
    }
}

impl From<&Facts> for Gpu {
    fn from(facts: &Facts) -> Self {
        Gpu {
            architecture: facts.architecture(),
            multiprocessors: facts.multiprocessors,
            shared_bytes: facts.shared_bytes_per_block,
            l2_bytes: facts.l2_bytes,
        }
    }
}
