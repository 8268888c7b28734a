//! The compute roofs of the ops whose FLOPs are contractions: the unit that an optimal implementation would use. Every other
//! op has the default: CUDA cores in fp32.

use super::OfCall;
use crate::{CheckedCall, DEFAULT_ROOF, DType, OpError};

/// The tensor core's key for operands of the first input's dtype; contractions in full fp32 have no tensor core.
fn by_operands(call: &CheckedCall) -> Result<&'static str, OpError> {
    let first = call.inputs().iter().find_map(|(_, tensor)| tensor.as_ref());
    Ok(match first.map(|tensor| tensor.dtype) {
        Some(DType::Float16) => "tensor_core.fp16",
        Some(DType::BFloat16) => "tensor_core.bf16",
        Some(DType::Float8E4M3Fn | DType::Float8E5M2) => FP8,
        Some(DType::Int8 | DType::UInt8) => INT8,
        _ => DEFAULT_ROOF,
    })
}

const FP8: &str = "tensor_core.fp8";
const INT8: &str = "tensor_core.int8";

/// The element dtype `T`, where the first input is the caller's buffer or of another dtype.
fn by_element(call: &CheckedCall) -> Result<&'static str, OpError> {
    Ok(match call.dtype("T")? {
        DType::Float16 => "tensor_core.fp16",
        DType::BFloat16 => "tensor_core.bf16",
        _ => DEFAULT_ROOF,
    })
}

/// Each op with its roof.
pub(super) const ROOFS: &[(&[&str], OfCall<&'static str>)] = &[
    (
        &[
            "AddmmFwdOp",
            "BatchedMatmulFwdOp",
            "GateUpMatmulFwdOp",
            "GroupedMatmulFwdOp",
            "GroupedMatmulWgradOp",
            "LayoutGroupedMatmulFwdOp",
            "LinearCrossEntropyFwdOp",
            "LinearFwdOp",
            "MatmulFwdOp",
            "OuterProductMeanFwdOp",
            // Weights of fewer bits are converted: the operands have the activations' dtype.
            "MatmulInt4WeightFwdOp",
            "MatmulInt8WeightFwdOp",
            "MatmulMxfp4WeightFwdOp",
            "AttentionFwdOp",
            "BlockSparseAttentionFwdOp",
            "IndexerScoresFwdOp",
            "KeyWindowScoresFwdOp",
            "MlaPagedDecodeFwdOp",
            "PagedDecodeAttentionFwdOp",
            "PagedPrefillAttentionFwdOp",
            "SparsePositionsDecodeFwdOp",
            "TopkSparseAttentionFwdOp",
            "VarlenAttentionFwdOp",
            "Conv1dFwdOp",
            "Conv2dFwdOp",
            "Conv3dFwdOp",
            "ConvTranspose2dFwdOp",
            "ScaledMatmulFp8FwdOp",
            "BlockScaledMatmulFp8FwdOp",
            "BatchedMatmulFp8FwdOp",
            "GroupedMatmulFp8FwdOp",
            "MatmulInt8FwdOp",
        ],
        by_operands,
    ),
    (
        &[
            "AttentionBwdOp",
            "ChunkGatedLinearAttentionFwdOp",
            "ChunkScanFwdOp",
            "ExpertMlpFwdOp",
            "FusedMoeFwdOp",
            "GatedDeltaRuleChunkFwdOp",
            "SharedExpertFwdOp",
        ],
        by_element,
    ),
    (&["ExpertMlpFp8FwdOp", "Fp8AttentionFwdOp"], |_| Ok(FP8)),
];
