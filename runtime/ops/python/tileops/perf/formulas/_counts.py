"""What several formulas count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple, Protocol

# The softmax of an attention, a score: scale, running maximum, subtraction, exponential, sum.
SOFTMAX = 5

# A capped score: the division by the cap, tanh, the product with the cap.
SOFTCAP = 3


class Tensor(Protocol):
    """A tensor of a checked call."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...

    @property
    def nbytes(self) -> int: ...


class Call(Protocol):
    """The checked call: all that a formula reads."""

    @property
    def params(self) -> Mapping[str, Any]: ...

    @property
    def indices(self) -> Mapping[str, Any]: ...

    @property
    def tensors(self) -> Mapping[str, Any]: ...

    @property
    def stages(self) -> Mapping[str, Any]: ...

    def present(self, name: str) -> bool: ...

    def bytes(self, name: str) -> int: ...

    def contents(self, name: str) -> list[int]: ...


_BYTES = {"bool": 1, "complex64": 8, "complex128": 16}


def fact(call: Call, name: str) -> Any:
    """The index, the `let` or the parameter called `name`."""
    return call.indices[name] if name in call.indices else call.params[name]


def facts(call: Call, names: str) -> list[Any]:
    return [fact(call, name) for name in names.split()]


def width(call: Call, name: str) -> int:
    """The bytes of an element of the tensor called `name`."""
    dtype = call.tensors[name].dtype
    if dtype in _BYTES:
        return _BYTES[dtype]
    bits = dtype.partition("_")[0].lstrip("abcdefghijklmnopqrstuvwxyz")
    return int(bits) // 8


def bytes_of(call: Call, names: str) -> int:
    """The sum of the sizes of tensors that are passed."""
    return sum(call.bytes(name) for name in names.split())


def bytes_if_present(call: Call, name: str) -> int:
    return call.bytes(name) if call.present(name) else 0


def segments(offsets: Sequence[int]) -> Iterator[int]:
    """The lengths of the segments that `offsets` bounds."""
    return (hi - lo for lo, hi in pairwise(offsets))


class Seen(NamedTuple):
    """What the queries of one sequence see: pairs of a query and a key, and keys that some query sees."""

    pairs: int
    keys: int


def seen(queries: int, keys: int, causal: bool, window: int | None = None) -> Seen:
    """`queries` at the end of `keys` positions, each of which sees itself and what lies before it, at most `window`."""
    if queries <= 0 or keys <= 0:
        return Seen(0, 0)
    if not causal:
        return Seen(queries * keys, keys)
    window = keys if window is None else min(window, keys)

    def first(n: int) -> int:
        growing = min(n, window)
        return growing * (growing + 1) // 2 + (n - growing) * window

    return Seen(first(keys) - first(keys - queries), min(keys, queries + window - 1))


def union(ranges: Iterable[tuple[int, int]]) -> int:
    """How many numbers half-open ranges hold, each counted once."""
    count, end = 0, None
    for lo, hi in sorted(ranges):
        lo = lo if end is None else max(lo, end)
        if hi > lo:
            count += hi - lo
            end = hi
    return count


class Axis(NamedTuple):
    """Windows along one axis: products with the input, elements of the input and of the kernel that take part in one."""

    taps: int
    read: int
    kernel: int


def axis(extent: int, windows: int, kernel: int, stride: int, padding: int, dilation: int) -> Axis:
    """Element `j` of window `o` lies at `o * stride - padding + j * dilation`."""
    taps = used = 0
    classes: dict[int, list[tuple[int, int]]] = {}
    for j in range(kernel):
        start = j * dilation - padding
        lo = min(max(-(start // stride), 0), windows)
        hi = min(max(-((start - extent) // stride), 0), windows)
        if hi > lo:
            taps += hi - lo
            used += 1
            quotient, remainder = divmod(start, stride)
            classes.setdefault(remainder, []).append((quotient + lo, quotient + hi))
    return Axis(taps, sum(map(union, classes.values())), used)


def per_axis(call: Call, name: str, position: int, fallback: int) -> int:
    """The value for a spatial axis of a parameter that is one integer, a tuple of them, or absent."""
    value = fact(call, name)
    if isinstance(value, (list, tuple)):
        value = value[position]
    return fallback if value is None else value


def product(factors: Iterable[int]) -> int:
    return prod(factors)
