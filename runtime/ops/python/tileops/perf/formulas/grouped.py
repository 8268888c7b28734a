"""Grouped contractions: a group, or an expert, without rows reads no matrix."""

from __future__ import annotations

from ._counts import Call, bytes_of, fact, facts, segments, width


def _groups_with_rows(call: Call) -> int:
    return sum(rows > 0 for rows in segments(call.contents("offsets")))


def grouped_matmul_roofline(call: Call) -> tuple[int, int]:
    """Groups of rows behind one another, each meeting its own matrix."""
    m, n, k = facts(call, "M N K")
    matrices = _groups_with_rows(call) * n * k * width(call, "weight")
    return 2 * m * n * k, bytes_of(call, "x offsets y") + matrices


def grouped_matmul_fp8_roofline(call: Call) -> tuple[int, int]:
    """The same of fp8 operands, with a scale for each row and each column."""
    m, n, k = facts(call, "M N K")
    each = n * k * width(call, "weight") + n * width(call, "weight_scale")
    moved = bytes_of(call, "x x_scale offsets y") + _groups_with_rows(call) * each
    return 2 * m * n * k + 2 * m * n, moved


def layout_grouped_matmul_roofline(call: Call) -> tuple[int, int]:
    """Rows that lie as the layout says, each meeting its expert's matrix."""
    w, f, experts = facts(call, "W F num_experts")
    layout, metadata = fact(call, "layout"), call.contents("metadata")
    rows = [0] * experts
    if layout.kind == "contiguous" and layout.metadata_kind == "per_row":
        for expert in metadata:
            if 0 <= expert < experts:
                rows[expert] += 1
    else:
        slab = layout.kind == "masked"
        alignment = 1 if slab else max(layout.alignment, 1)
        start = 0
        for expert, entry in enumerate(metadata[:experts]):
            rows[expert] = max(entry - start, 0)
            if not slab:
                start = -(-entry // alignment) * alignment
    valid = sum(rows)
    matrices = sum(one > 0 for one in rows) * f * w * width(call, "weight")
    read = w * valid * width(call, "x")
    return 2 * w * f * valid, bytes_of(call, "metadata y") + read + matrices
