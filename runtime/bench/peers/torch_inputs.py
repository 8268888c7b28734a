"""What a row's inputs hold: the values that the row states, and else what `tileops-bench` draws for it, element by element."""

import torch

from seeds import bits, offset, tensor_seed

# How many elements are drawn at a time: their 64-bit counters take memory, too.
CHUNK = 1 << 24


def default(dtype):
    """What a tensor is drawn from where its row does not say."""
    if dtype == "bool":
        return {"one_in": 2}
    if getattr(torch, dtype).is_floating_point or getattr(torch, dtype).is_complex:
        low, high = (0.25, 4.0) if dtype == "float8_e8m0fnu" else (-1.0, 1.0)
        return {"uniform": {"low": low, "high": high}}
    return {"integers": {"low": 0 if dtype.startswith("u") else -100, "high": 100}}


def drawn(shape, dtype, source, seed, device="cuda"):
    """A tensor drawn from `source`, as a row states it: `{"uniform": {"low": -1.0, "high": 1.0}}`."""
    (kind, of), = source.items()
    elements = torch.empty(shape, dtype=dtype, device=device)
    if kind == "constant":
        return elements.copy_(torch.full((), of, dtype=torch.float32, device=device))
    flat = elements.view(-1)
    for start in range(0, flat.numel(), CHUNK):
        end = min(start + CHUNK, flat.numel())
        found = bits(seed, torch.arange(start, end, dtype=torch.int64, device=device))
        if kind == "uniform":
            # In single precision, every operation rounded by itself.
            low, high = (torch.tensor(of[name], dtype=torch.float32) for name in ("low", "high"))
            found = (found >> 8).float().mul_(2.0**-24).mul_((high - low).item()).add_(low.item())
        elif kind == "integers":
            found = offset(found, of["high"] - of["low"]) + of["low"]
        elif kind == "one_in":
            found = found % max(of, 1) == 0
        else:
            raise ValueError(f"no distribution is called `{kind}`: a row has `uniform`, `integers`, `one_in` or `constant`")
        flat[start:end].copy_(found)
    return elements


def is_input(row, tensor):
    """Whether the call is given it. A cache that it writes into is, too, which a row says by what it holds."""
    held = row.get("values", {}).keys() | row.get("distributions", {}).keys()
    return tensor["name"] in held or tensor.get("effect") in ("read", "mutate")


class Set:
    """One of the sets of inputs that take turns."""

    def __init__(self, row, number):
        values, sources = row.get("values", {}), row.get("distributions", {})
        self.tensors, self.kept = {}, []
        for tensor in row["tensors"]:
            if not is_input(row, tensor):
                continue
            name, shape, dtype = tensor["name"], tensor["shape"], getattr(torch, tensor["dtype"])
            if name in values:
                made = torch.tensor(values[name], dtype=torch.int64, device="cuda").to(dtype).reshape(shape)
            else:
                source = sources.get(name) or default(tensor["dtype"])
                made = drawn(shape, dtype, source, tensor_seed(row["seed"], name, number))
            self.tensors[name] = made
            if tensor.get("effect") != "read":
                self.kept.append((made, made.clone()))

    def nbytes(self):
        return sum(t.numel() * t.element_size() for t in self.tensors.values())

    def renew(self):
        for tensor, before in self.kept:
            tensor.copy_(before)
