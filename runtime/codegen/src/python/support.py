"""What the emitted classes use: checked calls, the primitives of the manifest language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf, isnan, prod
from typing import Any, Protocol

__all__ = ["CheckedCall", "ContractError", "Op", "OpNotAvailableError", "TensorInfo", "TensorLike"]

INF = inf

# For methods in which a tensor or an index has the name of the function.
all_of, max_of, min_of, sum_of = all, max, min, sum

BITS = {
    "bool": 8,
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "uint16": 16,
    "int32": 32,
    "uint32": 32,
    "int64": 64,
    "uint64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
    "complex64": 64,
    "complex128": 128,
    "float8_e4m3fn": 8,
    "float8_e4m3fnuz": 8,
    "float8_e5m2": 8,
    "float8_e5m2fnuz": 8,
    "float8_e8m0fnu": 8,
}


class ContractError(ValueError):
    """A construction or a call that the manifest's entry refuses."""

    def __init__(self, op: str, declaration: str, message: str) -> None:
        super().__init__(f"{op}: {declaration}: {message}")
        self.op = op
        self.declaration = declaration


class DomainError(ValueError):
    """Arguments that a primitive has no value for."""


class OpNotAvailableError(RuntimeError):
    """What was asked for needs a completed call."""


class TensorLike(Protocol):
    """A tensor, or a description of one."""

    @property
    def shape(self) -> Any: ...

    @property
    def dtype(self) -> Any: ...


@dataclass(frozen=True)
class TensorInfo:
    """A tensor's extents and the name of its dtype."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def nbytes(self) -> int:
        return -(-prod(self.shape) * BITS[self.dtype] // 8)


@dataclass(frozen=True)
class CheckedCall:
    """A call that passed its checks, and all that a formula may read of it."""

    op: str
    params: Mapping[str, Any]
    indices: Mapping[str, Any]
    tensors: Mapping[str, TensorInfo | None]
    values: Mapping[str, Any] = field(default_factory=dict)
    out: TensorInfo | None = None
    stages: Mapping[str, CheckedCall] = field(default_factory=dict)

    def present(self, name: str) -> bool:
        if name == "out":
            return self.out is not None
        if name in self.tensors:
            return self.tensors[name] is not None
        return self.params[name] is not None

    def contents(self, name: str) -> list[int]:
        """The contents of a metadata tensor, row-major; a call on descriptions has none."""
        values = self.values[name]
        if hasattr(values, "tolist"):
            values = values.tolist()
        if not isinstance(values, (list, tuple)):
            raise OpNotAvailableError(f"{self.op}: the values of `{name}` are not known")
        return flat(values)

    def bytes(self, name: str) -> int:
        tensor = self.tensors[name]
        if tensor is None:
            raise OpNotAvailableError(f"{self.op}: `{name}` is not part of this call")
        return tensor.nbytes


class Op:
    """What every emitted class has."""

    NAME = ""

    last_call: CheckedCall | None = None

    def outputs(self) -> dict[str, TensorInfo | None]:
        """The outputs of the last call; `None` for one that it does not emit."""
        raise NotImplementedError

    def completed_call(self) -> CheckedCall:
        """The last call that passed its checks."""
        if self.last_call is None:
            raise OpNotAvailableError(f"{self.NAME}: no call has completed")
        return self.last_call

    def _refuse(self, declaration: str, message: str) -> ContractError:
        return ContractError(self.NAME, declaration, message)

    @contextmanager
    def _declared(self, declaration: str) -> Iterator[None]:
        """Names the declaration whose expression has no value."""
        try:
            yield
        except ContractError:
            raise
        except (ArithmeticError, IndexError, ValueError) as error:
            raise self._refuse(declaration, f"it has no value: {error}") from error

    def _tensor(self, declaration: str, tensor: TensorLike) -> TensorInfo:
        """What is read of a tensor that is passed."""
        try:
            shape = tuple(int(extent) for extent in tensor.shape)
            dtype = dtype_name(tensor.dtype)
        except (AttributeError, TypeError, ValueError) as error:
            raise self._refuse(
                declaration, f"it is no tensor with a known dtype: {error}"
            ) from error
        if any(extent < 0 for extent in shape):
            raise self._refuse(declaration, f"its shape {show(shape)} has a negative extent")
        return TensorInfo(shape, dtype)


def flat(values: Sequence[Any]) -> list[int]:
    """The integers of nested sequences, in their order."""
    if values and isinstance(values[0], (list, tuple)):
        return [value for row in values for value in flat(row)]
    return list(values)


def show(shape: Sequence[int]) -> str:
    return f"[{', '.join(str(extent) for extent in shape)}]"


def dtype_name(dtype: Any) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in BITS:
        raise DomainError(f"`{name}` is no dtype")
    return name


def frozen(value: Any) -> Any:
    return tuple(frozen(item) for item in value) if isinstance(value, (list, tuple)) else value


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_int_or_none(value: Any) -> bool:
    return value is None or is_int(value)


def is_dim(value: Any) -> bool:
    return is_int(value) and value >= 0


def is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def is_float(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and not isnan(value)


def is_str(value: Any) -> bool:
    return isinstance(value, str)


def is_dtype(value: Any, allowed: Sequence[str]) -> bool:
    return str(value).removeprefix("torch.") in allowed


def is_seq(value: Any, item: Callable[[Any], bool], length: int | None = None) -> bool:
    if not isinstance(value, (list, tuple)) or (length is not None and len(value) != length):
        return False
    return all(item(one) for one in value)


@dataclass(frozen=True)
class Variant:
    """A value of a sum type: the constructor, and its fields as attributes."""

    adt: str
    kind: str
    fields: tuple[tuple[str, Any], ...]

    def __getattr__(self, name: str) -> Any:
        for key, value in self.__dict__.get("fields", ()):
            if key == name:
                return value
        raise AttributeError(name)


def variant(
    value: Any,
    adt: str,
    constructors: Mapping[str, tuple[str, Mapping[str, Callable[[Any], bool]]]],
) -> Variant:
    """Reads `{constructor: {field: value}}`, or an object of a constructor's Python class."""
    if isinstance(value, Variant) and value.adt == adt:
        return value
    for kind, (python, fields) in constructors.items():
        if isinstance(value, Mapping) and set(value) == {kind}:
            stated = value[kind]
        elif python and type(value).__name__ == python.rpartition(".")[2]:
            stated = {name: getattr(value, name) for name in fields}
        else:
            continue
        stated = {name: getattr(item, "value", item) for name, item in dict(stated or {}).items()}
        if set(stated) != set(fields):
            raise DomainError(f"`{kind}` has the fields {', '.join(fields) or 'none'}")
        for name, item in stated.items():
            if not fields[name](item):
                raise DomainError(f"`{kind}.{name}` is {item!r}")
        return Variant(adt, kind, tuple((name, stated[name]) for name in fields))
    raise DomainError(f"{value!r} is none of {', '.join(constructors)}")


def last(shape: tuple[int, ...], count: int, behind: int) -> tuple[int, ...]:
    """The `count` extents that `behind` others follow."""
    end = max(0, len(shape) - behind)
    return shape[max(0, end - count) : end]


def extents(values: Sequence[int]) -> tuple[int, ...]:
    """A shape, which has no negative extent."""
    for extent in values:
        if extent < 0:
            raise DomainError(f"{show(values)} has a negative extent")
    return tuple(values)


def _positive(name: str, value: int) -> int:
    if value <= 0:
        raise DomainError(f"`{name}` is {value}, and must be positive")
    return value


def _natural(name: str, value: int) -> int:
    if value < 0:
        raise DomainError(f"`{name}` is {value}, and must be non-negative")
    return value


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for axis, extent in enumerate(shape, rank - len(shape)):
            if result[axis] == 1:
                result[axis] = extent
            elif extent not in (1, result[axis]):
                shown = ", ".join(show(one) for one in shapes)
                raise DomainError(f"{shown} do not broadcast")
    return tuple(result)


def _normalized(axis: int, rank: int) -> int | None:
    axes = max(rank, 1)
    return axis % axes if -axes <= axis < axes else None


def _axes(dim: int | Sequence[int], rank: int) -> list[int]:
    result = []
    for axis in (dim,) if isinstance(dim, int) else dim:
        normal = _normalized(axis, rank)
        if normal is None:
            raise DomainError(f"`dim` has {axis}, which is no axis of a shape of rank {rank}")
        result.append(normal)
    return result


def reduced(
    s: Sequence[int], dim: int | Sequence[int] | None, keepdim: bool, mode: str
) -> tuple[int, ...]:
    rank = len(s)
    if dim is None:
        gone = set(range(rank))
    elif not isinstance(dim, int) and len(dim) == 0:
        if mode == "reject":
            raise DomainError("`dim` is empty, and the mode is 'reject'")
        gone = set(range(rank)) if mode == "full" else set()
    else:
        gone = set(_axes(dim, rank))
    if keepdim:
        return tuple(1 if axis in gone else extent for axis, extent in enumerate(s))
    return tuple(extent for axis, extent in enumerate(s) if axis not in gone)


def valid_axes(dim: int | Sequence[int] | None, rank: int) -> bool:
    _natural("rank", rank)
    if dim is None:
        return True
    axes = (dim,) if isinstance(dim, int) else dim
    return all(_normalized(axis, rank) is not None for axis in axes)


def unique_axes(dim: int | Sequence[int] | None, rank: int) -> bool:
    _natural("rank", rank)
    axes = [] if dim is None else _axes(dim, rank)
    return len(set(axes)) == len(axes)


def per_axis(
    v: int | Sequence[int | None] | None, i: int, n: int, fallback: int | None = None
) -> int:
    if isinstance(v, (list, tuple)):
        if len(v) != n:
            raise DomainError(f"`v` is {v}, and must have {n} items")
        if not 0 <= i < n:
            raise DomainError(f"`i` is {i}, outside [0, {n})")
        v = v[i]
    if v is None:
        v = fallback
    if not isinstance(v, int):
        raise DomainError("`v` is None there, and there is no fallback")
    return v


def ceil_div(a: int, b: int) -> int:
    return -(-a // _positive("b", b))


def conv_out(L: int, k: int, s: int, p: int, d: int) -> int:
    return (L + 2 * p - d * (k - 1) - 1) // _positive("s", s) + 1


def pool_out(L: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    slack = L + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return max(0, slack // _positive("s", s) + 1)
    windows = ceil_div(slack, _positive("s", s)) + 1
    if (windows - 1) * s >= L + p:
        windows -= 1
    return max(0, windows)


def moe_capacity(layout: Variant, R: int, E: int) -> int:
    _natural("R", R)
    _natural("E", E)
    if layout.kind == "masked":
        return E * layout.max_m
    if layout.packing == "aligned":
        return ceil_div(R + E * (layout.alignment - 1), layout.alignment) * layout.alignment
    return R


def mhc_expansion(q: int) -> int:
    n = 1
    while n * (n + 2) < q:
        n += 1
    if n * (n + 2) != q:
        raise DomainError(f"`q` is {q}, and no positive n has n * n + 2n == {q}")
    return n


def category(x: Any) -> str:
    if isinstance(x, bool):
        return "bool"
    if isinstance(x, int):
        return "int"
    if isinstance(x, float):
        return "float"
    name = dtype_name(x)
    return name.rstrip("0123456789") if "float" not in name else "float"


def promote_int_to_float(T: str) -> str:
    return "float32" if T.startswith(("int", "uint")) else T


def coalesce_dtype(v: str | None, T: str) -> str:
    return T if v is None else v


def balanced_sizes(total: int, count: int) -> tuple[int, ...]:
    each, larger = divmod(_natural("total", total), _positive("count", count))
    return tuple(each + (position < larger) for position in range(count))


def repeat(value: int, count: int) -> tuple[int, ...]:
    return (value,) * _natural("count", count)


_LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
    "complex64": 3.4028234663852886e38,
    "complex128": 1.7976931348623157e308,
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
}


def representable(v: float, T: str) -> bool:
    if isinstance(v, bool) or T == "bool":
        return True
    if T == "float8_e8m0fnu":
        return 2.0**-127 <= v <= 2.0**127
    if T in _LARGEST:
        if abs(v) == inf:
            return T not in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2fnuz")
        return abs(v) <= _LARGEST[T]
    bits = BITS[T]
    if T.startswith("uint"):
        most = (1 << bits) - 1
        return (-most if isinstance(v, int) else 0) <= v <= most
    return -(1 << (bits - 1)) <= v <= (1 << (bits - 1)) - 1
