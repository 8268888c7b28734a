"""Rotary embeddings by position."""

from __future__ import annotations

from ._counts import Call, facts, width


def rope_positions_roofline(call: Call) -> tuple[int, int]:
    """Queries and keys of packed tokens, rotated where they lie by a table that has a row a position."""
    n, h, g, rotated = facts(call, "N H G rotary_dim")
    moved = 2 * n * (h + g) * rotated * width(call, "q")
    rows = len(set(call.contents("positions"))) * rotated * width(call, "table")
    return 3 * n * (h + g) * rotated, moved + rows + call.bytes("positions")
