"""Pooling: windows are cut at the edges, and elements between windows are not read."""

from __future__ import annotations

from math import gcd

from ._counts import Axis, Call, axis, per_axis, product, width


def _axes(call: Call, dilated: bool) -> list[Axis]:
    axes = []
    sizes = zip(call.tensors["x"].shape[2:], call.tensors["y"].shape[2:], strict=True)
    for position, (extent, windows) in enumerate(sizes):
        kernel = per_axis(call, "kernel_size", position, 1)
        stride = per_axis(call, "stride", position, kernel)
        padding = per_axis(call, "padding", position, 0)
        dilation = per_axis(call, "dilation", position, 1) if dilated else 1
        axes.append(axis(extent, windows, kernel, stride, padding, dilation))
    return axes


def _planes(call: Call) -> int:
    return product(call.tensors["x"].shape[:2])


def _read(call: Call, axes: list[Axis]) -> int:
    return _planes(call) * product(one.read for one in axes) * width(call, "x")


def _outputs(call: Call) -> int:
    return sum(call.bytes(name) for name in ("y", "indices") if call.tensors.get(name) is not None)


def max_pool_roofline(call: Call) -> tuple[int, int]:
    """A comparison for each element of the input in each window."""
    axes = _axes(call, True)
    return _planes(call) * product(one.taps for one in axes), _read(call, axes) + _outputs(call)


def avg_pool_roofline(call: Call) -> tuple[int, int]:
    """An addition for each element of the input in each window, and a division a window."""
    axes = _axes(call, False)
    flops = _planes(call) * product(one.taps for one in axes) + product(call.tensors["y"].shape)
    return flops, _read(call, axes) + _outputs(call)


def _adaptive(call: Call) -> int:
    """The elements of each adaptive window over the last two axes."""
    x, y = call.tensors["x"].shape, call.tensors["y"].shape
    sizes = zip(x[-2:], y[-2:], strict=True)
    return product(x[:-2]) * product(
        extent + windows - gcd(extent, windows) for extent, windows in sizes
    )


def adaptive_avg_pool_roofline(call: Call) -> tuple[int, int]:
    """An addition for each element of each window, a division a window."""
    return _adaptive(call) + product(call.tensors["y"].shape), call.bytes("x") + _outputs(call)


def adaptive_max_pool_roofline(call: Call) -> tuple[int, int]:
    """A comparison for each element of each window."""
    return _adaptive(call), call.bytes("x") + _outputs(call)
