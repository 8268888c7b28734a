"""Attention over dense tensors and packed batches."""

from __future__ import annotations

from ._counts import (
    SOFTCAP,
    SOFTMAX,
    Call,
    bytes_if_present,
    bytes_of,
    fact,
    facts,
    seen,
    segments,
    width,
)


def attention_roofline(call: Call) -> tuple[int, int]:
    """Dense, causal or within a window, with grouped heads, a softcap and sinks."""
    b, s, keys, h, g, d, v = facts(call, "B S L H G D V")
    found = seen(s, keys, fact(call, "is_causal"), fact(call, "window"))
    softcap = SOFTCAP if call.present("softcap") else 0
    sink = 4 if call.present("sinks") else 0
    flops = b * h * (found.pairs * (2 * d + 2 * v + SOFTMAX + softcap) + s * (v + sink))
    read = b * g * found.keys * (d * width(call, "k") + v * width(call, "v"))
    return flops, bytes_of(call, "q o") + bytes_if_present(call, "sinks") + read


def varlen_attention_roofline(call: Call) -> tuple[int, int]:
    """Requests behind one another, each one attending to itself; rows give their log-sum-exp."""
    n, h, d = facts(call, "N H D")
    causal = fact(call, "is_causal")
    pairs = sum(seen(n, n, causal).pairs for n in segments(call.contents("offsets")))
    flops = h * (pairs * (4 * d + SOFTMAX) + n * (d + 2))
    return flops, bytes_of(call, "q k v offsets o lse")
