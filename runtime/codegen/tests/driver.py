"""Runs emitted classes on calls that the analyzer determined, and prints what differs: one JSON document."""

import importlib
import json
import re
import sys
import types
from math import inf, prod

folder, cases_file = sys.argv[1:]
sys.path.insert(0, folder)
support = importlib.import_module("emitted._tileops")
cases = json.load(open(cases_file))


class Formulas(types.ModuleType):
    """Any function of the formula package: it takes the checked call, and nothing else."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)

        def formula(call):
            assert isinstance(call, support.CheckedCall)
            return len(name), len(call.tensors)

        return formula


for name in ("tileops", "tileops.perf"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["tileops.perf.formulas"] = Formulas("tileops.perf.formulas")


class Tensor:
    def __init__(self, described, prefix=""):
        self.shape, self.dtype = list(described["shape"]), prefix + described["dtype"]


def plain(value):
    if isinstance(value, dict) and set(value) == {"float"}:
        return float(value["float"])
    return [plain(item) for item in value] if isinstance(value, list) else value


def tupled(value):
    return tuple(tupled(item) for item in value) if isinstance(value, (list, tuple)) else value


def tensors_of(case, role):
    listed = {t["name"]: t for t in case["tensors"] if t["role"] == role}
    return {name: t if t["passed"] else None for name, t in listed.items()}


def constructed(case):
    params = {name: plain(value) for name, value in case["params"].items()}
    for name, tensor in tensors_of(case, "construction").items():
        params[name] = tensor and Tensor(tensor)
    module = importlib.import_module("emitted." + case["family"])
    return getattr(module, case["op"])(**params)


def namespace(op, call):
    """What a formula's own text reads, with the same primitives."""
    names = {name: getattr(support, name) for name in dir(support) if not name.startswith("_")}
    names |= {"conv": types.SimpleNamespace(out=support.conv_out), "inf": inf, "prod": prod}
    names |= {"pool": types.SimpleNamespace(out=support.pool_out)}
    names |= {name: name for name in support.BITS if name not in ("bool",)}
    names |= dict(call.params) | dict(call.indices) | dict(call.tensors)
    names |= {"bytes": lambda t: t.nbytes, "present": lambda x: x is not None}
    names["out"] = call.out
    return names


def formula(text, op, call):
    text = " ".join(re.sub(r"(\w)\.value\b", r"\1", text).split())
    return eval(text, namespace(op, call))


problems, prices, verdicts, counts = [], {}, [], {"calls": 0, "refused": 0, "accepted": 0, "priced": 0}


def problem(case, what, *details):
    problems.append([case["op"], case["case_id"], what, *map(repr, details)])


def solved(op, case, expected):
    for name, value in expected.items():
        if name not in op.last_call.indices or op.last_call.indices[name] != tupled(value):
            problem(case, f"index {name}", op.last_call.indices.get(name), value)


def run(case):
    op = constructed(case)
    try:
        op.eval_roofline()
        problem(case, "priced before a call")
    except support.OpNotAvailableError:
        pass
    inputs = tensors_of(case, "input")
    op.check_call(**{name: tensor and Tensor(tensor, "torch.") for name, tensor in inputs.items()})
    counts["calls"] += 1
    solved(op, case, case["indices"])
    outputs = tensors_of(case, "output")
    found = op.outputs()
    for name, tensor in outputs.items():
        shown = found[name] and (list(found[name].shape), found[name].dtype)
        if shown != (tensor and (tensor["shape"], tensor["dtype"])):
            problem(case, f"output {name}", shown, tensor)
    if set(found) != set(outputs):
        problem(case, "outputs", found)
    if case["out"]:
        buffer = Tensor(outputs[case["out"]])
        arguments = {name: tensor and Tensor(tensor) for name, tensor in inputs.items()}
        op.check_call(**arguments, out=buffer)
        buffer.shape.append(1)
        try:
            op.check_call(**arguments, out=buffer)
            problem(case, "a wrong buffer is accepted")
        except support.ContractError as error:
            if error.declaration != f"signature.outputs.{case['out']}.buffer":
                problem(case, "a wrong buffer", error)
        op.check_call(**arguments)
    flops, moved = op.eval_roofline()
    for name in case["params"]:
        if hasattr(op, name):
            kept = getattr(op, name)
            setattr(op, name, object())
            if op.eval_roofline() != (flops, moved):
                problem(case, "priced by what the op is now", name)
            setattr(op, name, kept)
    prices[case["op"] + " " + case["case_id"]] = [str(flops), str(moved)]
    if case["derived"] and str(moved) != case["bytes"]:
        problem(case, "derived bytes", moved, case["bytes"])
    if case["flops"]:
        counts["priced"] += 1
        if formula(case["flops"], op, op.last_call) != flops:
            problem(case, "flops", flops, case["flops"])
    if case["moved"] and formula(case["moved"], op, op.last_call) != moved:
        problem(case, "bytes", moved, case["moved"])
    before = op.last_call
    verdicts.append([])
    for bad in case["mutations"]:
        arguments = {name: tensor and Tensor(tensor) for name, tensor in inputs.items()}
        stored = {}
        for name, tensor in bad["tensors"].items():
            changed = tensor and Tensor(tensor)
            if name in arguments:
                arguments[name] = changed
            else:
                stored[name] = getattr(op, name)
                setattr(op, name, changed)
        try:
            op.check_call(**arguments)
            verdicts[-1].append(None)
            counts["accepted"] += 1
            if bad["refused"] is not None:
                problem(case, "a bad call is accepted", bad)
            else:
                solved(op, case, bad["indices"])
            op.last_call = before
        except support.ContractError as error:
            verdicts[-1].append(error.declaration)
            counts["refused"] += 1
            if op.last_call is not before:
                problem(case, "a refused call is remembered", bad)
            # What the analyzer's inference leaves to the call checks: the sets of dtypes and negative extents of outputs.
            own = error.declaration.startswith(("signature.outputs.", "signature.dtype_combos", "signature.let."))
            own |= error.declaration.endswith(".dtype") and bad["dtype"]
            if not own and not (bad["refused"] and error.declaration.startswith(bad["refused"])):
                problem(case, "refused for another reason", bad, error)
        for name, tensor in stored.items():
            setattr(op, name, tensor)


for case in cases:
    try:
        run(case)
    except Exception as error:  # noqa: BLE001
        problem(case, "raised", error)
json.dump({"problems": problems, "prices": prices, "verdicts": verdicts, "counts": counts}, sys.stdout)
