"""What stands for an op in PyTorch: its function where there is one, and else a composition."""

import torch
import torch.nn.functional as F


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
