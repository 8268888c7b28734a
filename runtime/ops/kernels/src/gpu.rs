//! The facts of a GPU that a plan depends on.

use tileops_device::{DeviceError, Facts};

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

/// The first compute capability that the kernels run on. Compiled for an earlier one, some end in the assembler's errors.
const LEAST_CAPABILITY: (i32, i32) = (9, 0);

impl TryFrom<&Facts> for Gpu {
    type Error = DeviceError;

    fn try_from(facts: &Facts) -> Result<Self, DeviceError> {
        if facts.capability < LEAST_CAPABILITY {
            return Err(DeviceError::TooOld {
                name: facts.name.clone(),
                capability: facts.capability,
                least: LEAST_CAPABILITY,
                needs: "clusters of blocks, mbarriers that are waited for, and asynchronous tensor cores (H100, H200)",
            });
        }
        Ok(Gpu {
            architecture: facts.architecture(),
            multiprocessors: facts.multiprocessors,
            shared_bytes: facts.shared_bytes_per_block,
            l2_bytes: facts.l2_bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(name: &str, capability: (i32, i32)) -> Facts {
        Facts {
            ordinal: 0,
            name: name.to_owned(),
            uuid: String::new(),
            capability,
            cuda: 13000,
            multiprocessors: 132,
            l2_bytes: 62_914_560,
            memory_bytes: 150_109_880_320,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6016,
            shared_bytes_per_block: 232_448,
        }
    }

    #[test]
    fn a_gpu_that_the_kernels_do_not_run_on_is_refused_and_told_so() {
        assert_eq!(Gpu::try_from(&facts("NVIDIA H200", (9, 0))).expect("it has all of it"), Gpu::h200());
        for (name, capability, said) in [("NVIDIA A100-SXM4-80GB", (8, 0), "8.0"), ("NVIDIA L40S", (8, 9), "8.9")] {
            let error = Gpu::try_from(&facts(name, capability)).expect_err("it has no clusters").to_string();
            let due = format!("{name} has compute capability {said}, and the kernels need 9.0 or later: clusters");
            assert!(error.starts_with(&due), "{error}");
        }
    }
}
