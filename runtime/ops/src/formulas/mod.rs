//! Rooflines that need code: `func` of an entry names a function of this module.
//!
//! Each is a function of the checked call and of nothing else, and says in its documentation where its numbers come from.
//! `runtime/ops/python/tileops/perf/formulas` has the same functions in Python, by the same names; a test holds the two
//! equal on every row that uses them.
//!
//! The conventions: a multiply-add is 2; a comparison that selects is 1; a transcendental function is 1; an accumulation
//! starts from its neutral element, and so is one operation an element. An input that is read in part counts the distinct
//! elements that are read, however many windows, queries or requests read them; an input that the algorithm does not read
//! counts nothing; an output is written once. Reads and writes are stated apart ([`Cost`]), so that a formula is also its op's
//! read half.

use crate::{CheckedCall, Int, OpError};

mod attention;
mod convolution;
mod counts;
mod embedding;
mod grouped;
mod linear_attention;
mod moe;
mod paged;
mod pool;
mod rope;
mod sampling;
mod sparse;

pub(crate) use counts::bytes_of;

/// What a call costs: the price of its op, with the two directions of its traffic apart.
#[derive(Debug, Clone, Copy)]
pub struct Cost {
    /// The least arithmetic of the algorithm.
    pub flops: Int,
    /// The bytes that it reads: the read half that the audit holds against hardware counters.
    pub read: Int,
    /// The bytes that it writes.
    pub written: Int,
}

impl Cost {
    /// The least traffic: what is read and what is written.
    pub fn bytes(&self) -> Int {
        self.read + self.written
    }
}

/// A roofline: what a checked call costs.
pub type Formula = fn(&CheckedCall) -> Result<Cost, OpError>;

macro_rules! formulas {
    ($($module:ident: $($name:ident),*;)*) => {
        $(pub use $module::{$($name),*};)*

        /// Every formula, by its name.
        pub const ALL: &[(&str, Formula)] = &[$($((stringify!($name), $name)),*),*];
    };
}

formulas! {
    attention: attention_roofline, varlen_attention_roofline;
    convolution: conv_roofline, conv_transpose_roofline;
    embedding: bert_embedding_roofline, embedding_bag_roofline, embedding_roofline, index_select_roofline;
    grouped: grouped_matmul_fp8_roofline, grouped_matmul_roofline, layout_grouped_matmul_roofline;
    linear_attention: chunk_gated_linear_attention_roofline, gated_delta_rule_chunk_roofline, gated_linear_attention_roofline;
    moe: expert_mlp_fp8_roofline, expert_mlp_roofline, fused_moe_roofline;
    paged: mla_paged_decode_roofline, paged_decode_roofline, paged_gather_roofline, paged_prefill_roofline;
    pool: adaptive_avg_pool_roofline, adaptive_max_pool_roofline, avg_pool_roofline, max_pool_roofline;
    rope: rope_positions_roofline;
    sampling: speculative_verify_roofline;
    sparse: block_sparse_attention_roofline, key_windows_roofline, sparse_positions_roofline, topk_sparse_attention_roofline;
}
