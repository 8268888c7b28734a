"""Choosing tokens where what is read depends on draws."""

from __future__ import annotations

from ._counts import Call, bytes_of, facts, width


def speculative_verify_roofline(call: Call) -> tuple[int, int]:
    """The least over all numbers of accepted tokens: all of them, or none."""
    b, k, v = facts(call, "B K V")
    drafted = min(k, 1)
    probability, draw = width(call, "target_probs"), width(call, "uniform")
    token = width(call, "draft_tokens")
    flops = min(2 * k + 2 * v, 2 * drafted + (2 + 3 * drafted) * v)
    everything = (2 * k + v) * probability + (k + 1) * draw + k * token
    first = (1 + drafted) * (v * probability + draw) + drafted * token
    return b * flops, b * min(everything, first) + bytes_of(call, "tokens accepted")
