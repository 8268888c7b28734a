"""Convolution: products with padding are none, and elements between windows are not read."""

from __future__ import annotations

from ._counts import Axis, Call, axis, bytes_if_present, fact, per_axis, product, width


def _axes(call: Call) -> list[Axis]:
    x, weight, y = (call.tensors[name].shape[2:] for name in ("x", "weight", "y"))
    same = isinstance(fact(call, "padding"), str)
    axes = []
    for position, (extent, kernel, windows) in enumerate(zip(x, weight, y, strict=True)):
        stride = per_axis(call, "stride", position, 1)
        dilation = per_axis(call, "dilation", position, 1)
        # 'same' pads on the right where its padding is odd.
        padding = dilation * (kernel - 1) // 2 if same else per_axis(call, "padding", position, 0)
        axes.append(axis(extent, windows, kernel, stride, padding, dilation))
    return axes


def conv_roofline(call: Call) -> tuple[int, int]:
    """Convolution in any number of axes, in groups, with a bias or without."""
    axes = _axes(call)
    x, weight = call.tensors["x"].shape, call.tensors["weight"].shape
    bias = product(call.tensors["y"].shape) if call.present("bias") else 0
    flops = 2 * x[0] * product(weight[:2]) * product(one.taps for one in axes) + bias
    read = product(x[:2]) * product(one.read for one in axes) * width(call, "x")
    kernel = product(weight[:2]) * product(one.kernel for one in axes) * width(call, "weight")
    return flops, read + kernel + bytes_if_present(call, "bias") + call.bytes("y")


def conv_transpose_roofline(call: Call) -> tuple[int, int]:
    """Transposed convolution: its windows are those of the convolution from the output to the input."""
    x, weight, y = (call.tensors[name].shape for name in ("x", "weight", "y"))
    taps = used = read = 1
    for position, (source, kernel, target) in enumerate(zip(x[2:], weight[2:], y[2:], strict=True)):
        stride = per_axis(call, "stride", position, 1)
        padding = per_axis(call, "padding", position, 0)
        found = axis(target, source, kernel, stride, padding, 1)
        taps *= found.taps
        used *= found.kernel
        first = -(-max(padding - kernel + 1, 0) // stride)
        behind = -(-(target + padding) // stride)
        read *= max(min(behind, source) - min(first, source), 0) if found.taps > 0 else 0
    bias = product(y) if call.present("bias") else 0
    flops = 2 * x[0] * product(weight[:2]) * taps + bias
    moved = product(x[:2]) * read * width(call, "x")
    moved += product(weight[:2]) * used * width(call, "weight")
    return flops, moved + bytes_if_present(call, "bias") + call.bytes("y")
