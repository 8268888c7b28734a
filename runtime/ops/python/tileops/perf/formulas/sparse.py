"""Attention over keys that a selection chose: this call's selection decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ._counts import SOFTMAX, Call, bytes_of, facts, union, width


def block_sparse_attention_roofline(call: Call) -> tuple[int, int]:
    """A packed causal batch over selected blocks of keys."""
    n, h, groups, d, most, size = facts(call, "N H G D K block_size")
    blocks, counts = call.contents("blocks"), call.contents("counts")
    offsets = call.contents("offsets")
    scores = entries = 0
    # Of each block, the keys up to the last token that sees it.
    longest: dict[tuple[int, int, int], int] = {}
    for sequence, (start, end) in enumerate(pairwise(offsets)):
        for token in range(start, end):
            for group in range(groups):
                row = token * groups + group
                kept = min(max(counts[row], 0), most)
                entries += kept
                for block in blocks[row * most : row * most + kept]:
                    keys = min(token - start + 1 - block * size, size)
                    if block >= 0 and keys > 0:
                        scores += keys
                        at = (sequence, group, block)
                        longest[at] = max(keys, longest.get(at, 0))
    flops = h // groups * scores * (4 * d + SOFTMAX) + n * h * d
    selection = entries * width(call, "blocks")
    read = d * sum(longest.values()) * (width(call, "k") + width(call, "v"))
    return flops, bytes_of(call, "q counts offsets o") + selection + read


def topk_sparse_attention_roofline(call: Call) -> tuple[int, int]:
    """Attention over the latent positions that an indexer kept."""
    b, s, length, h, d, k, v = facts(call, "B S L H D K value_width")
    kept, distinct = selected(call.contents("selected"), s * k, length)
    flops = h * (kept * (2 * d + 2 * v + SOFTMAX) + b * s * v)
    return flops, bytes_of(call, "q selected o") + d * distinct * width(call, "kv")


def sparse_positions_roofline(call: Call) -> tuple[int, int]:
    """Attention over chosen positions of each request's own keys."""
    b, s, h, g, d, p, k = facts(call, "B S H G D P K")
    kept, distinct = selected(call.contents("positions"), s * k, p)
    flops = h * (kept * (4 * d + SOFTMAX) + b * s * d)
    read = g * d * distinct * (width(call, "k") + width(call, "v"))
    return flops, bytes_of(call, "q positions o") + read


def selected(values: Sequence[int], each: int, extent: int) -> tuple[int, int]:
    """How many entries name a position, and how many positions they name; `each` entries are of one request."""
    named = [(at // max(each, 1), value) for at, value in enumerate(values) if 0 <= value < extent]
    return len(named), len(set(named))


def key_windows_roofline(call: Call) -> tuple[int, int]:
    """Scores of packed queries with the keys from each one's start to its end."""
    (d,) = facts(call, "D")
    windows = list(zip(call.contents("starts"), call.contents("ends"), strict=True))
    scores = sum(max(hi - lo, 0) for lo, hi in windows)
    read = d * union(windows) * width(call, "k")
    return 2 * d * scores, bytes_of(call, "q starts ends scores") + read
