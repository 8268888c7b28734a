"""Prices calls with an emitted package: cases on the standard input, what each costs on the standard output, as JSON."""

import importlib
import json
import sys

package, formulas = sys.argv[1:]
sys.path[:0] = [package, formulas]


class Tensor:
    """A description; the values of a metadata tensor are what `tolist` gives."""

    def __init__(self, shape, dtype, values):
        self.shape, self.dtype, self.values = shape, dtype, values
        if values is not None:
            self.tolist = lambda: values


def plain(value):
    if isinstance(value, dict) and set(value) == {"float"}:
        return float(value["float"])
    return [plain(item) for item in value] if isinstance(value, list) else value


def priced(case):
    tensors = {t["name"]: Tensor(t["shape"], t["dtype"], t["values"]) for t in case["tensors"]}
    params = {name: plain(value) for name, value in case["params"].items()}
    params |= {name: tensors.pop(name) for name in case["construction"] if name in tensors}
    module = importlib.import_module("emitted." + case["family"])
    op = getattr(module, case["op"])(**params)
    op.check_call(**tensors)
    return op.eval_roofline()


results = []
for case in json.load(sys.stdin):
    try:
        flops, moved = priced(case)
        results.append([str(flops), str(moved)])
    except Exception as error:  # noqa: BLE001
        results.append(f"{type(error).__name__}: {error}")
json.dump(results, sys.stdout)
