"""Attention over a cache in pages."""

from __future__ import annotations

from collections.abc import Sequence

from ._counts import SOFTCAP, SOFTMAX, Call, bytes_of, fact, facts, seen, segments, union, width


def pages(call: Call, page_size: int, ranges: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The distinct slots and the entries of the table behind the positions of the requests, a range a request."""
    table, columns = call.contents("page_table"), call.tensors["page_table"].shape[-1]
    slots: dict[int, list[tuple[int, int]]] = {}
    entries = 0
    for request, (lo, hi) in enumerate(ranges):
        if hi <= lo:
            continue
        for column in range(lo // page_size, (hi - 1) // page_size + 1):
            if column >= columns:
                raise LookupError(f"the page table has no entry for position {column * page_size}")
            first = column * page_size
            inside = (max(lo - first, 0), min(hi - first, page_size))
            slots.setdefault(table[request * columns + column], []).append(inside)
            entries += 1
    return sum(map(union, slots.values())), entries


def paged_decode_roofline(call: Call) -> tuple[int, int]:
    """One query token a request, over the positions that its pages hold, or the last `window` of them."""
    b, h, g, d = facts(call, "B H G D")
    window = fact(call, "window")
    softcap = SOFTCAP if call.present("softcap") else 0
    lengths = call.contents("kv_lengths")
    ranges = [(0 if window is None else max(n - window, 0), n) for n in lengths]
    scores = sum(hi - lo for lo, hi in ranges)
    slots, entries = pages(call, fact(call, "page_size"), ranges)
    flops = h * (scores * (4 * d + SOFTMAX + softcap) + b * d)
    pool = g * d * slots * (width(call, "k_pages") + width(call, "v_pages"))
    table = entries * width(call, "page_table")
    return flops, bytes_of(call, "q kv_lengths o") + table + pool


def paged_prefill_roofline(call: Call) -> tuple[int, int]:
    """Packed new tokens of each request, behind what its pages already hold."""
    n, h, g, d = facts(call, "N H G D")
    softcap = SOFTCAP if call.present("softcap") else 0
    new = segments(call.contents("offsets"))
    found = [
        seen(n, n + c, True) for n, c in zip(new, call.contents("cached_lengths"), strict=True)
    ]
    pairs = sum(one.pairs for one in found)
    slots, entries = pages(call, fact(call, "page_size"), [(0, one.keys) for one in found])
    flops = h * (pairs * (4 * d + SOFTMAX + softcap) + n * d)
    pool = g * d * slots * (width(call, "k_pages") + width(call, "v_pages"))
    table = entries * width(call, "page_table")
    return flops, bytes_of(call, "q offsets cached_lengths o") + table + pool


def mla_paged_decode_roofline(call: Call) -> tuple[int, int]:
    """Latent attention, absorbed: latent numbers are key and value of every head, rotated ones key alone."""
    b, h, c, r = facts(call, "B H C R")
    ranges = [(0, n) for n in call.contents("kv_lengths")]
    scores = sum(hi for _, hi in ranges)
    slots, entries = pages(call, fact(call, "page_size"), ranges)
    flops = h * (scores * (2 * (c + r) + 2 * c + SOFTMAX) + b * c)
    pool = (c + r) * slots * width(call, "cache")
    table = entries * width(call, "page_table")
    return flops, bytes_of(call, "q_latent q_rope kv_lengths o") + table + pool


def paged_gather_roofline(call: Call) -> tuple[int, int]:
    """Cached keys and values copied out of their pages, packed."""
    g, d, page_size = facts(call, "G D page_size")
    table, columns = call.contents("page_table"), call.tensors["page_table"].shape[-1]
    rows = call.contents("rows")
    slots, entries = set(), set()
    for request, position in zip(rows[::2], rows[1::2], strict=True):
        entry = request * columns + position // page_size
        entries.add(entry)
        slots.add((table[entry], position % page_size))
    pool = g * d * len(slots) * (width(call, "k_pages") + width(call, "v_pages"))
    return 0, bytes_of(call, "rows k v") + len(entries) * width(call, "page_table") + pool
