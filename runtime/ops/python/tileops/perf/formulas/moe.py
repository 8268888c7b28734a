"""Mixture of experts. Each stage is priced as the op that runs it alone."""

from __future__ import annotations

from ._counts import Call, bytes_of, fact, facts, width


def _stages(rows: int, h: int, f: int) -> int:
    """Gate and up, the gated activation, down, the weighted combine."""
    return rows * (6 * f * h + 6 * f + 2 * h)


def expert_mlp_roofline(call: Call) -> tuple[int, int]:
    """The routed experts of every token."""
    n, h, f, k = facts(call, "N H F K")
    experts = len(set(call.contents("ids")))
    each = f * h * (2 * width(call, "gate_up") + width(call, "down"))
    return _stages(n * k, h, f), bytes_of(call, "x weights ids y") + experts * each


def expert_mlp_fp8_roofline(call: Call) -> tuple[int, int]:
    """The same on fp8 matrices with a scale for each block."""
    n, h, f, k, e, block = facts(call, "N H F K E block")
    experts = len(set(call.contents("ids")))
    scaled = 2 * (2 * f * -(-h // block) + h * -(-f // block))
    each = f * h * (2 * width(call, "gate_up") + width(call, "down"))
    scales = bytes_of(call, "gate_up_scale down_scale") // max(e, 1)
    flops = _stages(n * k, h, f) + n * k * scaled
    return flops, bytes_of(call, "x weights ids y") + experts * (each + scales)


def fused_moe_roofline(call: Call) -> tuple[int, int]:
    """A whole layer: routing by the logits, the experts, and a shared expert where there is one."""
    n, h, f, e, k = facts(call, "N H F E top_k")
    score = 5 if fact(call, "score") == "softmax" else 4
    normalized = 2 * n * k if fact(call, "normalize") else 0
    flops = n * e * (score + k) + normalized + _stages(n * k, h, f)
    each = f * h * (2 * width(call, "gate_up") + width(call, "down"))
    moved = bytes_of(call, "x logits y") + _routed_experts(call) * each
    if call.present("shared_gate_up"):
        s = fact(call, "S")
        flops += n * (6 * h * s + 6 * s + h)
        moved += bytes_of(call, "shared_gate_up shared_down")
    return flops, moved


def _routed_experts(call: Call) -> int:
    """The experts that the stages' ids name, or the fewest that any routing names."""
    stage = call.stages.get("experts")
    if stage is None:
        return fact(call, "top_k") if fact(call, "N") > 0 else 0
    return len(set(stage.contents("ids")))
