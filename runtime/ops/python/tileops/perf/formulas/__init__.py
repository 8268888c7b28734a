"""Rooflines that need code: what `func` of an entry names.

Each is a function of the checked call and of nothing else. `runtime/ops/src/formulas` has the same functions in Rust, with
their derivations; a test holds the two equal on every row that uses them.
"""

from .attention import attention_roofline, varlen_attention_roofline
from .convolution import conv_roofline, conv_transpose_roofline
from .embedding import (
    bert_embedding_roofline,
    embedding_bag_roofline,
    embedding_roofline,
    index_select_roofline,
)
from .grouped import (
    grouped_matmul_fp8_roofline,
    grouped_matmul_roofline,
    layout_grouped_matmul_roofline,
)
from .linear_attention import (
    chunk_gated_linear_attention_roofline,
    gated_delta_rule_chunk_roofline,
    gated_linear_attention_roofline,
)
from .moe import expert_mlp_fp8_roofline, expert_mlp_roofline, fused_moe_roofline
from .paged import (
    mla_paged_decode_roofline,
    paged_decode_roofline,
    paged_gather_roofline,
    paged_prefill_roofline,
)
from .pool import (
    adaptive_avg_pool_roofline,
    adaptive_max_pool_roofline,
    avg_pool_roofline,
    max_pool_roofline,
)
from .rope import rope_positions_roofline
from .sampling import speculative_verify_roofline
from .sparse import (
    block_sparse_attention_roofline,
    key_windows_roofline,
    sparse_positions_roofline,
    topk_sparse_attention_roofline,
)

__all__ = [
    "adaptive_avg_pool_roofline",
    "adaptive_max_pool_roofline",
    "attention_roofline",
    "avg_pool_roofline",
    "bert_embedding_roofline",
    "block_sparse_attention_roofline",
    "chunk_gated_linear_attention_roofline",
    "conv_roofline",
    "conv_transpose_roofline",
    "embedding_bag_roofline",
    "embedding_roofline",
    "expert_mlp_fp8_roofline",
    "expert_mlp_roofline",
    "fused_moe_roofline",
    "gated_delta_rule_chunk_roofline",
    "gated_linear_attention_roofline",
    "grouped_matmul_fp8_roofline",
    "grouped_matmul_roofline",
    "index_select_roofline",
    "key_windows_roofline",
    "layout_grouped_matmul_roofline",
    "max_pool_roofline",
    "mla_paged_decode_roofline",
    "paged_decode_roofline",
    "paged_gather_roofline",
    "paged_prefill_roofline",
    "rope_positions_roofline",
    "sparse_positions_roofline",
    "speculative_verify_roofline",
    "topk_sparse_attention_roofline",
    "varlen_attention_roofline",
]
