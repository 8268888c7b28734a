#!/usr/bin/env python3
"""Times PyTorch, eager and compiled, on the rows of an op manifest.

    tileops-bench --price --values | torch_peer.py --out torch.jsonl

Reads rows as `tileops-bench --price --values` prints them (or any records; the values of metadata tensors are then drawn) and
writes records of the same schema, tagged `torch-eager` or `torch-compile`. Times are device-busy times by CUPTI, through
torch.profiler: before each call 256 MiB are read, as `tileops-bench` does it, and sets of inputs take turns.

A peer is not judged against the op's reference. Where PyTorch has no function for an op, a composition stands for it, in
`PEERS`.
"""

import argparse
import ctypes
import datetime
import fnmatch
import json
import math
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

FLUSH_BYTES = 256 << 20
WARM_UP = 5
MAX_SETS = 16
LEAST_SAMPLES, MOST_SAMPLES = 20, 10_000
CONFIDENCE = 0.95
# How long rows are compiled ahead at most; what is left is compiled where it is timed.
AHEAD_SECONDS = 300

# Kernels of the measurement. Their names tell them from what is measured.
OWN = "tileops_bench_"


@triton.jit
def tileops_bench_flush(words, sink, n, BLOCK: tl.constexpr):
    """Reads `n` words: what was in the L2 cache is gone, and nothing that replaced it is dirty."""
    total = 0
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(words + at, mask=at < n, other=0))
    if total == 0x5E3779B9:
        tl.store(sink, total)


@triton.jit
def tileops_bench_end(sink):
    """Tells what is behind a call from the call."""
    tl.store(sink + 1, 1)


# --- What stands for an op -----------------------------------------------------------------------------------------------


def dims(dim):
    return tuple(dim) if isinstance(dim, list) else dim


def halves(x):
    return x.chunk(2, dim=-1)


def reduced(function, **more):
    """A reduction whose parameters are `dim` and `keepdim`; no `dim` is all of them."""

    def call(p, t):
        options = {"keepdim": p["keepdim"]} if "keepdim" in p else {}
        if p.get("dim") is None:
            return function(t["x"], **more)
        return function(t["x"], dim=dims(p["dim"]), **options, **more)

    return call


def unary(function):
    return lambda p, t: function(t["x"])


def binary(function):
    return lambda p, t: function(t["a"], t["b"])


def rms(x, weight, eps):
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


def layer(x, eps):
    return F.layer_norm(x, x.shape[-1:], eps=eps)


def add_rms_norm(p, t):
    total = t["x"] + t["residual"]
    t["residual"].copy_(total)
    return F.rms_norm(total, total.shape[-1:], t["weight"], p["eps"])


def add_layer_norm(p, t):
    total = t["x"] + t["residual"]
    return F.layer_norm(total, total.shape[-1:], t["weight"], t["bias"], p["eps"]), total


def modulated(x, p, t):
    return layer(x, p["eps"]) * (1 + t["scale"][:, None]) + t["shift"][:, None]


def gated_ada_layer_norm(p, t):
    total = t["residual"] + t["gate"][:, None] * t["branch"]
    t["residual"].copy_(total)
    return modulated(total, p, t)


def qk_rms_norm(p, t):
    for name in ("q", "k"):
        t[name].copy_(F.rms_norm(t[name], t[name].shape[-1:], t[name + "_weight"], p["eps"]))
    return t["q"], t["k"]


def gated_rms_norm(p, t):
    x, gate, groups = t["x"], t["gate"], p["num_groups"]
    if not p["norm_before_gate"]:
        x = x * F.silu(gate)
    rows = x.reshape(x.shape[0], groups, -1)
    y = F.rms_norm(rows, rows.shape[-1:], None, p["eps"]).reshape(x.shape) * t["weight"]
    return y * F.silu(gate) if p["norm_before_gate"] else y


def largest(dtype):
    return 127.0 if dtype == torch.int8 else torch.finfo(dtype).max


def quantized(x, scale, dtype):
    most = largest(dtype)
    y = (x.float() / scale).clamp(-most, most)
    return y.round().to(dtype) if dtype == torch.int8 else y.to(dtype)


def row_quantize(x, dtype):
    scale = x.float().abs().amax(-1, keepdim=True) / largest(dtype)
    return quantized(x, scale, dtype), scale


def group_quantize(x, group, dtype=torch.float8_e4m3fn):
    q, scale = row_quantize(x.unflatten(-1, (-1, group)), dtype)
    return q.flatten(-2), scale.squeeze(-1)


def rms_norm_quantize(p, t):
    x = t["x"]
    if t.get("residual") is not None:
        x = x + t["residual"]
        t["residual"].copy_(x)
    return row_quantize(F.rms_norm(x, x.shape[-1:], t["weight"], p["eps"]), torch.float8_e4m3fn)


def clamped_swiglu(p, t):
    gate, up = halves(t["x"])
    if p["limit"] is not None:
        gate, up = gate.clamp(max=p["limit"]), up.clamp(-p["limit"], p["limit"])
    return gate * torch.sigmoid(p["alpha"] * gate) * (up + 1)


def batch_norm(p, t):
    return F.batch_norm(
        t["x"], t.get("running_mean"), t.get("running_var"), t.get("weight"), t.get("bias"),
        p["training"] or t.get("running_mean") is None, p["momentum"], p["eps"],
    )


def attention(p, t):
    if p.get("window") is not None or p.get("softcap") is not None or t.get("sinks") is not None:
        raise NotImplementedError("scaled_dot_product_attention has no window, softcap or sinks")
    q, k, v = (t[name].transpose(1, 2) for name in "qkv")
    causal = p["is_causal"] and q.shape[2] == k.shape[2]
    if p["is_causal"] and not causal and q.shape[2] != 1:
        raise NotImplementedError("its causal mask is of another alignment")
    same = q.shape[1] == k.shape[1]
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=p.get("scale"), enable_gqa=not same)


def matmul(p, t):
    a = t["a"].t() if p["trans_a"] else t["a"]
    return a @ (t["b"].t() if p["trans_b"] else t["b"])


def scaled_matmul(p, t):
    def scale(s, rows):
        return s.reshape(-1, 1) if rows and s.numel() > 1 else s.reshape(1, -1) if s.numel() > 1 else s.reshape(())

    dtype = getattr(torch, p["out_dtype"])
    return torch._scaled_mm(t["a"], t["b"].t(), scale(t["scale_a"], True), scale(t["scale_b"], False), t.get("bias"),
                            out_dtype=dtype)


ACTIVATIONS = {"silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "relu": F.relu}


def rope(p, t):
    x = t["x"]
    width = x.shape[-1] if p["rotary_dim"] is None else p["rotary_dim"]
    start = t["cos"].shape[0] - x.shape[1]
    cos, sin = (t[name][start:, None] for name in ("cos", "sin"))
    turned = x[..., :width].float()
    if p["layout"] == "halves":
        a, b = turned.chunk(2, -1)
        y = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    else:
        a, b = turned.unflatten(-1, (-1, 2)).unbind(-1)
        y = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
    return torch.cat((y.to(x.dtype), x[..., width:]), -1)


def scaled_masked_softmax(p, t):
    scores = t["scores"].float() * p["scale"]
    return torch.softmax(scores if t.get("mask") is None else scores + t["mask"], -1).to(t["scores"].dtype)


def expert_combine(p, t):
    n, k = t["weights"].shape
    rows = t["rows"][t["places"].long()].view(n, k, -1)
    y = (rows * t["weights"][..., None]).sum(1).to(rows.dtype)
    return y if t.get("shared") is None else y + t["shared"]


def router(p, t):
    score = torch.softmax if p["score"] == "softmax" else lambda x, _: torch.sigmoid(x)
    scores = score(t["logits"].float(), -1)
    biased = scores if t.get("bias") is None else scores + t["bias"]
    ids = biased.topk(p["top_k"], -1).indices
    weights = scores.gather(-1, ids)
    return weights / weights.sum(-1, keepdim=True) if p["normalize"] else weights, ids


def adamw(p, t):
    grad, m, v, w = t["grad"].float(), t["moment"], t["variance"], t["weight"]
    m.lerp_(grad, 1 - p["beta1"])
    v.mul_(p["beta2"]).addcmul_(grad, grad, value=1 - p["beta2"])
    c1, c2 = 1 - p["beta1"] ** p["step"], 1 - p["beta2"] ** p["step"]
    step = p["lr"] * (m / c1) / ((v / c2).sqrt() + p["eps"])
    w.copy_(w.float() * (1 - p["lr"] * p["weight_decay"]) - step)
    return w


def pool(function, *names):
    return lambda p, t: function(t["x"], **{name: dims(p[name]) for name in names})


def conv(function):
    names = ("stride", "padding", "dilation", "groups", "output_padding")
    return lambda p, t: function(t["x"], t["weight"], t.get("bias"), **{n: dims(p[n]) for n in names if n in p})


# What stands for an op: a function of the row's parameters and its input tensors, by name.
PEERS = {
    # Elementwise.
    "AbsFwdOp": unary(torch.abs),
    "CastFwdOp": lambda p, t: t["x"].to(getattr(torch, p["dtype"])),
    "ClampFwdOp": lambda p, t: torch.clamp(t["x"], p["min"], p["max"]),
    "DropoutFwdOp": lambda p, t: F.dropout(t["x"], p["p"], p["training"]),
    "EluFwdOp": lambda p, t: F.elu(t["x"], p["alpha"]),
    "ErfFwdOp": unary(torch.erf),
    "ExpFwdOp": unary(torch.exp),
    "FloorFwdOp": unary(torch.floor),
    "GeluFwdOp": lambda p, t: F.gelu(t["x"], approximate=p["approximate"]),
    "HardsigmoidFwdOp": unary(F.hardsigmoid),
    "HardswishFwdOp": unary(F.hardswish),
    "HardtanhFwdOp": lambda p, t: F.hardtanh(t["x"], p["min_val"], p["max_val"]),
    "IsFiniteFwdOp": unary(torch.isfinite),
    "LeakyReluFwdOp": lambda p, t: F.leaky_relu(t["x"], p["negative_slope"], p["inplace"]),
    "Log1pFwdOp": unary(torch.log1p),
    "LogFwdOp": unary(torch.log),
    "LogSigmoidFwdOp": unary(F.logsigmoid),
    "LogicalNotFwdOp": unary(torch.logical_not),
    "MishFwdOp": unary(F.mish),
    "NegFwdOp": unary(torch.neg),
    "PreluFwdOp": lambda p, t: F.prelu(t["x"], t["weight"]),
    "QuickGeluFwdOp": lambda p, t: t["x"] * torch.sigmoid(1.702 * t["x"]),
    "ReciprocalFwdOp": unary(torch.reciprocal),
    "ReluFwdOp": lambda p, t: F.relu(t["x"], p["inplace"]),
    "ReluSquaredFwdOp": lambda p, t: F.relu(t["x"]).square(),
    "RoundFwdOp": lambda p, t: torch.round(t["x"], decimals=p["decimals"]),
    "RsqrtFwdOp": unary(torch.rsqrt),
    "SeluFwdOp": unary(F.selu),
    "SigmoidFwdOp": unary(torch.sigmoid),
    "SignFwdOp": unary(torch.sign),
    "SiluFwdOp": lambda p, t: F.silu(t["x"], p["inplace"]),
    "SinFwdOp": unary(torch.sin),
    "SoftplusFwdOp": lambda p, t: F.softplus(t["x"], p["beta"], p["threshold"]),
    "SqrtFwdOp": unary(torch.sqrt),
    "TanhFwdOp": unary(torch.tanh),
    "AddFwdOp": lambda p, t: torch.add(t["a"], t["b"], alpha=p["alpha"]),
    "BitwiseAndFwdOp": binary(torch.bitwise_and),
    "DivFwdOp": lambda p, t: torch.div(t["a"], t["b"], rounding_mode=p["rounding_mode"]),
    "EqFwdOp": binary(torch.eq),
    "GtFwdOp": binary(torch.gt),
    "LogicalXorFwdOp": binary(torch.logical_xor),
    "MaximumFwdOp": binary(torch.maximum),
    "MinimumFwdOp": binary(torch.minimum),
    "MulFwdOp": binary(torch.mul),
    "PowFwdOp": lambda p, t: torch.pow(t["base"], t["exponent"]),
    "RemainderFwdOp": binary(torch.remainder),
    "SubFwdOp": lambda p, t: torch.sub(t["a"], t["b"], alpha=p["alpha"]),
    "AddcdivFwdOp": lambda p, t: torch.addcdiv(t["x"], t["a"], t["b"], value=p["value"]),
    "AddcmulFwdOp": lambda p, t: torch.addcmul(t["x"], t["a"], t["b"], value=p["value"]),
    "ClampTensorFwdOp": lambda p, t: torch.clamp(t["x"], t["min"], t["max"]),
    "LerpFwdOp": lambda p, t: torch.lerp(t["start"], t["end"], t["weight"]),
    "MaskedFillFwdOp": lambda p, t: (t["x"].masked_fill_ if p["inplace"] else t["x"].masked_fill)(t["mask"], p["value"]),
    "WhereFwdOp": lambda p, t: torch.where(t["condition"], t["a"], t["b"]),
    # Gated.
    "ClampedSwigluFwdOp": clamped_swiglu,
    "GegluFwdOp": lambda p, t: F.gelu(halves(t["x"])[0], approximate=p["approximate"]) * halves(t["x"])[1],
    "GluFwdOp": unary(F.glu),
    "RegluFwdOp": lambda p, t: F.relu(halves(t["x"])[0]) * halves(t["x"])[1],
    "SiluAndMulFwdOp": lambda p, t: F.silu(halves(t["x"])[0]) * halves(t["x"])[1],
    "SiluAndMulQuantizeFwdOp": lambda p, t: group_quantize(F.silu(halves(t["x"])[0]) * halves(t["x"])[1], p["group"]),
    # Norms.
    "AdaLayerNormFwdOp": lambda p, t: modulated(t["x"], p, t),
    "AddLayerNormFwdOp": add_layer_norm,
    "AddRmsNormFwdOp": add_rms_norm,
    "BatchNormFwdOp": batch_norm,
    "GatedAdaLayerNormFwdOp": gated_ada_layer_norm,
    "GatedRmsNormFwdOp": gated_rms_norm,
    "GemmaRmsNormFwdOp": lambda p, t: rms(t["x"], 1 + t["weight"], p["eps"]),
    "GroupNormFwdOp": lambda p, t: F.group_norm(t["x"], p["num_groups"], t.get("weight"), t.get("bias"), p["eps"]),
    "InstanceNormFwdOp": lambda p, t: F.instance_norm(t["x"], weight=t.get("weight"), bias=t.get("bias"), eps=p["eps"]),
    "L2NormalizeFwdOp": lambda p, t: F.normalize(t["x"], dim=-1, eps=p["eps"]),
    "LayerNormFwdOp": lambda p, t: F.layer_norm(t["x"], t["x"].shape[-1:], t.get("weight"), t.get("bias"), p["eps"]),
    "QkRmsNormFwdOp": qk_rms_norm,
    "RmsNormFwdOp": lambda p, t: F.rms_norm(t["x"], tuple(p["normalized_shape"]), t.get("weight"), p["eps"]),
    "RmsNormQuantizeFwdOp": rms_norm_quantize,
    # Softmax and reductions.
    "LogSoftmaxFwdOp": lambda p, t: F.log_softmax(t["x"], p["dim"]),
    "LogSumExpFwdOp": lambda p, t: torch.logsumexp(t["x"], dims(p["dim"]), p["keepdim"]),
    "ScaledMaskedSoftmaxFwdOp": scaled_masked_softmax,
    "SoftmaxBwdOp": lambda p, t: torch.ops.aten._softmax_backward_data(t["dy"], t["y"], p["dim"], t["dy"].dtype),
    "SoftmaxFwdOp": lambda p, t: F.softmax(t["x"], p["dim"]),
    "AllFwdOp": reduced(torch.all),
    "AmaxFwdOp": reduced(torch.amax),
    "AminFwdOp": reduced(torch.amin),
    "AnyFwdOp": reduced(torch.any),
    "ArgmaxFwdOp": reduced(torch.argmax),
    "ArgminFwdOp": reduced(torch.argmin),
    "CountNonzeroFwdOp": reduced(torch.count_nonzero),
    "CummaxFwdOp": lambda p, t: torch.cummax(t["x"], p["dim"]),
    "CumprodFwdOp": lambda p, t: torch.cumprod(t["x"], p["dim"]),
    "CumsumFwdOp": lambda p, t: torch.cumsum(t["x"], p["dim"]),
    "LogCumsumExpFwdOp": lambda p, t: torch.logcumsumexp(t["x"], p["dim"]),
    "MaxDimFwdOp": lambda p, t: torch.max(t["x"], p["dim"], p["keepdim"]),
    "MeanFwdOp": reduced(torch.mean),
    "ProdFwdOp": reduced(torch.prod),
    "StdFwdOp": lambda p, t: torch.std(t["x"], dims(p["dim"]), correction=p["correction"], keepdim=p["keepdim"]),
    "SumFwdOp": lambda p, t: torch.sum(
        t["x"], dims(p["dim"]), p["keepdim"], dtype=getattr(torch, p["dtype"]) if p["dtype"] else None
    ),
    "TopKFwdOp": lambda p, t: torch.topk(t["x"], p["k"], -1, p["largest"], p["sorted"]),
    "VarFwdOp": lambda p, t: torch.var(t["x"], dims(p["dim"]), correction=p["correction"], keepdim=p["keepdim"]),
    "VarMeanFwdOp": lambda p, t: torch.var_mean(t["x"], dims(p["dim"]), correction=p["correction"], keepdim=p["keepdim"]),
    "VectorNormFwdOp": lambda p, t: torch.linalg.vector_norm(t["x"], p["ord"], dims(p["dim"]), p["keepdim"]),
    # Products and attention.
    "AddmmFwdOp": lambda p, t: torch.addmm(t["c"], t["a"], t["b"], beta=p["beta"], alpha=p["alpha"]),
    "AttentionFwdOp": attention,
    "BatchedMatmulFwdOp": binary(torch.bmm),
    "GateUpMatmulFwdOp": lambda p, t: ACTIVATIONS[p["activation"]](t["x"] @ t["gate"].t()) * (t["x"] @ t["up"].t()),
    "LinearFwdOp": lambda p, t: F.linear(t["x"], t["weight"], t.get("bias")),
    "MatmulFwdOp": matmul,
    "ScaledMatmulFp8FwdOp": scaled_matmul,
    # Convolutions and pooling.
    "AdaptiveAvgPool2dFwdOp": pool(F.adaptive_avg_pool2d, "output_size"),
    "AdaptiveMaxPool2dFwdOp": pool(F.adaptive_max_pool2d, "output_size", "return_indices"),
    "AvgPool1dFwdOp": pool(F.avg_pool1d, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"),
    "AvgPool2dFwdOp": pool(
        F.avg_pool2d, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"
    ),
    "AvgPool3dFwdOp": pool(F.avg_pool3d, "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"),
    "Conv1dFwdOp": conv(F.conv1d),
    "Conv2dFwdOp": conv(F.conv2d),
    "Conv3dFwdOp": conv(F.conv3d),
    "ConvTranspose2dFwdOp": conv(F.conv_transpose2d),
    "MaxPool1dFwdOp": pool(F.max_pool1d, "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "MaxPool2dFwdOp": pool(F.max_pool2d, "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "MaxPool2dWithIndicesFwdOp": lambda p, t: F.max_pool2d(
        t["x"], dims(p["kernel_size"]), dims(p["stride"]), dims(p["padding"]), dims(p["dilation"]), p["ceil_mode"], True
    ),
    "MaxPool3dFwdOp": pool(F.max_pool3d, "kernel_size", "stride", "padding", "dilation", "ceil_mode"),
    "NearestUpsample2dFwdOp": lambda p, t: F.interpolate(t["x"], scale_factor=p["scale"], mode="nearest"),
    # Embeddings, positions, losses, optimizers.
    "AdamWStepFwdOp": adamw,
    "CrossEntropyFwdOp": lambda p, t: F.cross_entropy(
        t["logits"], t["target"], reduction=p["reduction"], label_smoothing=p["label_smoothing"]
    ),
    "EmbeddingBagFwdOp": lambda p, t: F.embedding_bag(t["ids"], t["table"], mode=p["mode"]),
    "EmbeddingFwdOp": lambda p, t: F.embedding(t["ids"], t["table"]) * (1 if p["scale"] is None else p["scale"]),
    "IndexSelectFwdOp": lambda p, t: torch.index_select(t["x"], 0, t["index"]),
    "KlDivFwdOp": lambda p, t: F.kl_div(t["input"], t["target"], reduction="batchmean", log_target=p["log_target"]),
    "MseLossFwdOp": lambda p, t: F.mse_loss(t["input"], t["target"]),
    "RopeFwdOp": rope,
    # Quantization.
    "FakeQuantizeFwdOp": lambda p, t: torch.fake_quantize_per_channel_affine(
        t["x"], t["scale"], t["zero_point"], 0, p["quant_min"], p["quant_max"]
    ),
    "RowQuantizeFwdOp": lambda p, t: row_quantize(t["x"], getattr(torch, p["quant_dtype"])),
    "TensorQuantizeFwdOp": lambda p, t: quantized(t["x"], t["scale"], getattr(torch, p["quant_dtype"])),
    "TokenGroupQuantizeFwdOp": lambda p, t: group_quantize(t["x"], p["group"]),
    # Sampling and routing.
    "ExpertCombineFwdOp": expert_combine,
    "GreedySampleFwdOp": lambda p, t: t["logits"].argmax(-1),
    "LogitSoftcapFwdOp": lambda p, t: t["logits"].copy_(torch.tanh(t["logits"] / p["cap"]) * p["cap"]),
    "TopkRouterFwdOp": router,
}


# --- Inputs --------------------------------------------------------------------------------------------------------------


def is_input(tensor):
    return tensor.get("effect") in ("read", "mutate")


def draw(tensor, values, generator):
    dtype, shape = getattr(torch, tensor["dtype"]), tensor["shape"]
    if values is not None:
        return torch.tensor(values, dtype=torch.int64, device="cuda").to(dtype).reshape(shape)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, device="cuda", generator=generator).bool()
    if dtype.is_floating_point:
        low, high = (0.25, 4.0) if dtype == torch.float8_e8m0fnu else (-1.0, 1.0)
        wide = dtype if dtype in (torch.float32, torch.float64) else torch.float32
        x = torch.rand(shape, device="cuda", dtype=wide, generator=generator)
        return x.mul_(high - low).add_(low).to(dtype)
    low = 0 if tensor["dtype"].startswith("u") else -100
    return torch.randint(low, 100, shape, device="cuda", dtype=torch.int32, generator=generator).to(dtype)


class Set:
    """One of the sets of inputs that take turns."""

    def __init__(self, row, number):
        generator = torch.Generator("cuda").manual_seed((row.get("seed", 0) + number * 0x9E3779B9) % (1 << 63))
        values = row.get("values", {})
        self.tensors, self.kept = {}, []
        for tensor in filter(is_input, row["tensors"]):
            made = draw(tensor, values.get(tensor["name"]), generator)
            self.tensors[tensor["name"]] = made
            if tensor["effect"] == "mutate":
                self.kept.append((made, made.clone()))

    def nbytes(self):
        return sum(t.numel() * t.element_size() for t in self.tensors.values())

    def renew(self):
        for tensor, before in self.kept:
            tensor.copy_(before)


# --- Times ---------------------------------------------------------------------------------------------------------------


def quantile(ordered, q):
    at = q * (len(ordered) - 1)
    below = math.floor(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)


def median_interval(ordered):
    """The two samples between which the median lies with 95 % confidence; nothing of fewer than six."""
    n, tail, rank = len(ordered), (1 - CONFIDENCE) / 2, None
    log_term, total = -n * math.log(2), 0.0
    for r in range(n // 2):
        total += math.exp(log_term)
        if total > tail:
            break
        rank = r
        log_term += math.log(n - r) - math.log(r + 1)
    return None if rank is None else (ordered[rank], ordered[n - 1 - rank])


def union(spans):
    covered = until = 0
    for start, end in spans:
        covered += max(0, end - max(start, until))
        until = max(until, end)
    return covered


class Clocks:
    """Clocks, power and what holds the clocks back, by NVML; nothing where it is missing."""

    REASONS = {
        0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
        0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
    }

    def __init__(self):
        self.sm, self.memory, self.reasons, self.power, self.temperature = [], None, set(), 0.0, 0
        try:
            self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
            self.handle = ctypes.c_void_p()
            uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
            ready = self.nvml.nvmlInit_v2() == 0
            if not ready or self.nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.handle)) != 0:
                self.nvml = None
        except OSError:
            self.nvml = None

    def driver(self):
        if self.nvml is None:
            return None
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self.nvml.nvmlSystemGetDriverVersion(text, 96) == 0 else None

    def read(self):
        if self.nvml is None:
            return
        value = ctypes.c_uint()
        if self.nvml.nvmlDeviceGetClockInfo(self.handle, 1, ctypes.byref(value)) == 0:
            self.sm.append(value.value)
        if self.nvml.nvmlDeviceGetClockInfo(self.handle, 2, ctypes.byref(value)) == 0:
            self.memory = value.value
        if self.nvml.nvmlDeviceGetPowerUsage(self.handle, ctypes.byref(value)) == 0:
            self.power = max(self.power, value.value / 1000)
        if self.nvml.nvmlDeviceGetTemperature(self.handle, 0, ctypes.byref(value)) == 0:
            self.temperature = max(self.temperature, value.value)
        bits = ctypes.c_ulonglong()
        if self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self.handle, ctypes.byref(bits)) == 0:
            self.reasons.update(name for bit, name in self.REASONS.items() if bits.value & bit)

    def record(self):
        if not self.sm:
            return None
        ordered = sorted(self.sm)
        found = {"sm_mhz": quantile(ordered, 0.5), "sm_min_mhz": ordered[0], "sm_max_mhz": ordered[-1]}
        if self.memory is not None:
            found["memory_mhz"] = self.memory
        if self.reasons:
            found["throttle"] = sorted(self.reasons)
        return {**found, "power_w": self.power, "temperature_c": self.temperature}


class Bench:
    def __init__(self, within, seconds):
        self.within, self.seconds = within, seconds
        properties = torch.cuda.get_device_properties(0)
        self.l2 = properties.L2_cache_size
        self.blocks = properties.multi_processor_count * 2
        size = max(FLUSH_BYTES, 4 * self.l2)
        self.words = torch.ones(size // 4, dtype=torch.int32, device="cuda")
        self.sink = torch.zeros(2, dtype=torch.int32, device="cuda")
        self.policy = f"read {size >> 20} MiB"

    def flush(self):
        tileops_bench_flush[(self.blocks,)](self.words, self.sink, self.words.numel(), BLOCK=8192, num_warps=8)

    def calls(self, function, sets, first, count):
        for number in range(first, first + count):
            turn = sets[number % len(sets)]
            turn.renew()
            self.flush()
            function(turn.tensors)
            tileops_bench_end[(1,)](self.sink)

    def samples(self, function, sets, first, count, clocks):
        """Device-busy times of `count` calls: kernels and fills, copies beside them, and how many kernels."""
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, acc_events=True) as profile:
            self.calls(function, sets, first, count)
            clocks.read()
            torch.cuda.synchronize()
        device = torch.autograd.DeviceType.CUDA
        events = [e for e in profile.profiler.kineto_results.events() if e.device_type() == device]
        spans = sorted((e.start_ns(), e.start_ns() + e.duration_ns(), e.name()) for e in events)
        calls, inside = [], False
        for start, end, name in spans:
            if name.startswith(OWN):
                inside = name.startswith(OWN + "flush")
                if inside:
                    calls.append([])
            elif inside:
                calls[-1].append((start, end, name))
        if len(calls) != count:
            raise RuntimeError(f"CUPTI recorded {len(calls)} of {count} flushes")
        found = []
        for call in calls:
            busy = union((s, e) for s, e, name in call if not name.startswith("Memcpy"))
            kernels = sum(not name.startswith("Mem") for _, _, name in call)
            found.append((busy, union((s, e) for s, e, _ in call) - busy, kernels))
        return found

    def time(self, function, sets):
        clocks, taken, number = Clocks(), [], 0
        with torch.no_grad():
            # The first call compiles; the others tell how long one takes.
            self.calls(function, sets, 0, 1)
            torch.cuda.synchronize()
            start = time.perf_counter()
            self.calls(function, sets, 1, WARM_UP - 1)
            torch.cuda.synchronize()
            each = (time.perf_counter() - start) / (WARM_UP - 1)
            start = time.perf_counter()
            while True:
                # A profile costs some milliseconds beside its samples: few and large ones.
                count = max(LEAST_SAMPLES, min(1024, int(1.2 * self.seconds[0] / each)))
                taken += self.samples(function, sets, number, count, clocks)
                number += count
                elapsed = time.perf_counter() - start
                busy = sorted(sample[0] for sample in taken)
                middle, interval = quantile(busy, 0.5), median_interval(busy)
                known = interval and max(middle - interval[0], interval[1] - middle) <= self.within * middle
                enough = len(taken) >= LEAST_SAMPLES and elapsed >= self.seconds[0] and known
                if enough or elapsed >= self.seconds[1] or len(taken) >= MOST_SAMPLES:
                    break
        timing = {
            "source": "cupti",
            "device_busy_ns": middle,
            "p10_ns": quantile(busy, 0.1),
            "p90_ns": quantile(busy, 0.9),
            "samples": len(busy),
            "kernels": taken[-1][2],
            "policy": {
                "l2": self.policy, "inputs": len(sets), "warmup": WARM_UP, "graph": False, "within": self.within,
                "confidence": CONFIDENCE, "seconds": list(self.seconds),
            },
        }
        if interval:
            timing["median_low_ns"], timing["median_high_ns"] = interval
        copies = quantile(sorted(sample[1] for sample in taken), 0.5)
        if copies:
            timing["excluded_copies_ns"] = copies
        if (found := clocks.record()) is not None:
            timing["clocks"] = found
        return timing

    def sets(self, row):
        first = Set(row, 0)
        size = max(first.nbytes(), 1)
        memory = torch.cuda.get_device_properties(0).total_memory // 2
        count = max(1, min(max(2, min(MAX_SETS, -(-4 * self.l2 // size))), memory // size))
        return [first, *(Set(row, number) for number in range(1, count))]


# --- Records -------------------------------------------------------------------------------------------------------------

KEPT = (
    "schema", "op", "case", "family", "dtype", "params", "tensors", "flops", "bytes", "read_bytes", "roof_key",
    "entry_hash", "data_terms",
)


def run_of(arguments):
    started = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    libraries = {"torch": torch.__version__, "triton": triton.__version__}
    return {"tool": "torch_peer", "started": started, "command": sys.argv, "libraries": libraries}


def device_of():
    properties = torch.cuda.get_device_properties(0)
    device = {
        "name": properties.name, "cuda": torch.version.cuda, "l2_bytes": properties.L2_cache_size,
        "compute_capability": f"{properties.major}.{properties.minor}", "uuid": str(properties.uuid).replace("-", ""),
    }
    driver = Clocks().driver()
    return {**device, "driver": driver} if driver else device


def failure_of(error):
    kind = "out_of_memory" if isinstance(error, torch.OutOfMemoryError) else "unsupported"
    kind = kind if isinstance(error, (torch.OutOfMemoryError, NotImplementedError)) else "failed"
    return {"kind": kind, "message": f"{type(error).__name__}: {error}".splitlines()[0][:400]}


def recorded(path):
    """The rows that a file has: a last line that a killed run left torn is none."""
    done = set()
    if path and os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            done.add((record["op"], record["case"], record.get("peer"), record.get("entry_hash")))
    return done


def compiled(call):
    torch._dynamo.reset()
    return torch.compile(call, dynamic=False)


def call_of(row):
    function, params = PEERS[row["op"]], row.get("params", {})
    return lambda tensors: function(params, tensors)


def compile_ahead(rows, count):
    """Compiles the rows into PyTorch's caches on disk, by `count` processes; what fails is said where the row is timed."""
    # Each compiles by itself: as many threads again in each would be too many.
    environment = {**os.environ, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    command = [sys.executable, os.path.abspath(__file__), "--compile-only"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "text": True}
    workers = [subprocess.Popen(command, env=environment, **pipes) for _ in range(count)]
    for number, worker in enumerate(workers):
        try:
            with worker.stdin as pipe:
                pipe.writelines(json.dumps(row) + "\n" for row in rows[number::count])
        except BrokenPipeError:
            pass
    until = time.monotonic() + AHEAD_SECONDS
    for worker in workers:
        try:
            worker.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


def compile_only(rows):
    with torch.no_grad():
        for row in rows:
            try:
                compiled(call_of(row))(Set(row, 0).tensors)
                torch.cuda.synchronize()
            except Exception as error:  # noqa: BLE001: it is said where the row is timed
                print(f"{row['op']} {row['case']}: {failure_of(error)['message']}", file=sys.stderr)
            torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", help="the file of rows; standard input without it")
    parser.add_argument("--out", help="the file to append records to; without it, they are printed")
    parser.add_argument("--op", default="*", help="only the ops whose name matches")
    parser.add_argument("--row", default="*", help="only the rows whose case matches")
    parser.add_argument("--peer", choices=["torch-eager", "torch-compile"], help="only this one")
    parser.add_argument("--resume", action="store_true", help="continue the file of --out")
    parser.add_argument("--within", type=float, default=1.0, help="how well the median is to be known, in percent")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2),
                        help="how many processes compile ahead of the first time; 0 for none")
    parser.add_argument("--compile-only", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--budget", type=float, default=1.0, help="the longest time of a row's samples, in seconds")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("PyTorch finds no GPU")
    if arguments.resume and not arguments.out:
        parser.error("--resume continues the file of --out")
    if arguments.out and not arguments.resume and os.path.exists(arguments.out) and os.path.getsize(arguments.out):
        parser.error(f"`{arguments.out}` has records: continue it with --resume, or name another file")

    source = open(arguments.rows, encoding="utf-8") if arguments.rows else sys.stdin
    rows = [json.loads(line) for line in source if line.strip()]
    rows = [r for r in rows if fnmatch.fnmatchcase(r["op"], arguments.op) and fnmatch.fnmatchcase(r["case"], arguments.row)]
    known = [row for row in rows if row["op"] in PEERS and "failure" not in row]
    if arguments.compile_only:
        return compile_only(known)
    print(f"{len(known)} of {len(rows)} rows have a peer", file=sys.stderr)
    begun = time.perf_counter()
    done = recorded(arguments.out) if arguments.resume else set()
    out = open(arguments.out, "a", encoding="utf-8") if arguments.out else sys.stdout
    if arguments.out and os.path.getsize(arguments.out):
        # A torn line of a killed run stays a line of its own.
        with open(arguments.out, "rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                out.write("\n")

    def is_due(row, peer):
        return arguments.peer in (None, peer) and (row["op"], row["case"], peer, row.get("entry_hash")) not in done

    # Before the first time is taken: nothing else is to be on the GPU then.
    to_compile = [row for row in known if is_due(row, "torch-compile")]
    if arguments.jobs > 0 and len(to_compile) > 1:
        compile_ahead(to_compile, min(arguments.jobs, len(to_compile)))
        print(f"compiled ahead in {time.perf_counter() - begun:.0f} s", file=sys.stderr)

    bench = Bench(arguments.within / 100, (min(0.1, arguments.budget), arguments.budget))
    device, run = device_of(), run_of(arguments)
    failed = 0
    for row in known:
        sets = None
        for peer in ("torch-eager", "torch-compile"):
            if not is_due(row, peer):
                continue
            record = {name: row[name] for name in KEPT if name in row}
            record["peer"] = peer
            try:
                sets = sets or bench.sets(row)
                call = call_of(row)
                if peer == "torch-compile":
                    call = compiled(call)
                record["timing"] = bench.time(call, sets)
                said = f"{record['timing']['device_busy_ns'] / 1e3:.2f} us"
            except Exception as error:  # noqa: BLE001: whatever a row does, the rows behind it are run
                record["failure"] = failure_of(error)
                said = f"{record['failure']['kind']}: {record['failure']['message']}"
                failed += 1
            record["device"], record["run"] = device, run
            # One write a record: what ends the program leaves whole ones behind.
            out.write(json.dumps(record, separators=(",", ":")) + "\n")
            out.flush()
            print(f"{row['op']} {row['case']} {peer}  {said}", file=sys.stderr)
            if "CUDA error" in record.get("failure", {}).get("message", ""):
                sys.exit("the GPU's context is lost: run again with --resume")
        del sets
        torch.cuda.empty_cache()
    print(f"{time.perf_counter() - begun:.0f} s, {failed} records without a time", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
