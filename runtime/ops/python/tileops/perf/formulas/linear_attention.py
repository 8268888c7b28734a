"""Attention with a state of fixed size: by the token, or in chunks where the signature has a chunk size."""

from __future__ import annotations

from collections.abc import Iterator

from ._counts import Call, bytes_if_present, bytes_of, fact, facts, segments


def gated_linear_attention_roofline(call: Call) -> tuple[int, int]:
    """Gated linear attention, token by token."""
    b, s, h, k, v = facts(call, "B S H K V")
    passed = bytes_if_present(call, "offsets") + bytes_if_present(call, "initial")
    return b * s * h * (5 * k * v + 2 * k), bytes_of(call, "q k v gate o final") + passed


def _chunks(call: Call) -> Iterator[tuple[int, int]]:
    """Lengths of chunks, and how many chunks have them."""
    chunk = max(fact(call, "chunk"), 1)
    for length in segments(call.contents("offsets")):
        yield chunk, length // chunk
        yield length % chunk, int(length % chunk > 0)


def chunk_gated_linear_attention_roofline(call: Call) -> tuple[int, int]:
    """Gated linear attention in chunks: a chunk's tokens meet as in attention, chunks through the state."""
    h, k, v = facts(call, "H K V")
    flops = h * sum(
        count * (c * (c + 1) * (k + v) + c * (7 * k + 4 * k * v) + k * v)
        for c, count in _chunks(call)
    )
    moved = bytes_of(call, "q k v gate offsets chunks o final")
    return flops, moved + bytes_if_present(call, "initial")


def gated_delta_rule_chunk_roofline(call: Call) -> tuple[int, int]:
    """The gated delta rule in chunks: the updates of a chunk solve a unit lower triangular system."""
    h, g, k, v = facts(call, "H G K V")
    flops = 0
    for c, count in _chunks(call):
        below = c * (c - 1) // 2
        query_head = 2 * k * c * c + c * k
        value_head = 6 * c * k * v + 2 * v * c * c + k * v + 4 * c * v + c * k + 5 * below + 4 * c
        flops += count * (g * query_head + h * value_head)
    return flops, bytes_of(call, "q k v g beta offsets chunks o final")
