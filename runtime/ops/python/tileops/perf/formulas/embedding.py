"""Tables: a row that several indices name is read once, and one that none names is not read."""

from __future__ import annotations

from ._counts import Call, bytes_of, fact, facts, product, width


def _rows(call: Call, ids: str, table: str) -> int:
    each = product(call.tensors[table].shape[1:])
    return len(set(call.contents(ids))) * each * width(call, table)


def embedding_roofline(call: Call) -> tuple[int, int]:
    """Rows of a table, scaled or not."""
    flops = product(call.tensors["y"].shape) if call.present("scale") else 0
    return flops, bytes_of(call, "ids y") + _rows(call, "ids", "table")


def embedding_bag_roofline(call: Call) -> tuple[int, int]:
    """Rows of a table, reduced by bags."""
    b, k, h = facts(call, "B K H")
    mean = b * h if fact(call, "mode") == "mean" else 0
    return b * k * h + mean, bytes_of(call, "ids y") + _rows(call, "ids", "table")


def bert_embedding_roofline(call: Call) -> tuple[int, int]:
    """The sum of a word's, a position's and a segment's row."""
    b, s, h = facts(call, "B S H")
    positions = min(b, 1) * s * h * width(call, "positions")
    named = _rows(call, "ids", "words") + _rows(call, "types", "segments")
    return 2 * b * s * h, bytes_of(call, "ids types y") + named + positions


def index_select_roofline(call: Call) -> tuple[int, int]:
    """Rows of a tensor's leading axis."""
    return 0, bytes_of(call, "index y") + _rows(call, "index", "x")
