"""Stands for PyTorch where a test runs its peer: nothing is computed, kernels are noted as a profiler would, and what some
functions do goes wrong. `STAND_IN` says what of PyTorch there is: `missing`, `no-gpu`, or else one GPU."""

import itertools
import os
import signal
import sys
import time
import types

if os.environ.get("STAND_IN") == "missing":
    raise ModuleNotFoundError("No module named 'torch'", name="torch")

__version__ = "2.99.0"
# What a profiler has noted: names, starts and durations, in nanoseconds.
noted, clock = [], itertools.count(0, 1000)


def note(name):
    noted.append((name, next(clock), 700))


class Anything:
    """Has every attribute and takes every call."""

    def __init__(self, shape=()):
        self.shape = shape

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *_, **__):
        return Anything()

    def __getitem__(self, _):
        return Anything()

    def numel(self):
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def element_size(self):
        return 4

    def view(self, _):
        return self

    def copy_(self, _):
        return self

    def __eq__(self, _):
        return Anything()


for name in ("add", "sub", "mul", "xor", "and", "rshift", "mod", "radd", "rmul"):
    setattr(Anything, f"__{name}__", lambda self, _: Anything())


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()


def empty(shape, **_):
    return Anything(shape)


def ones(count, **_):
    return Anything((count,))


class OutOfMemoryError(RuntimeError):
    pass


class no_grad:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def compile(call, **_):
    # What is printed here is no message of the process.
    print("a compiler speaks")
    return call


def exp(_):
    note("exp_kernel")


def log(_):
    """Never ends."""
    time.sleep(3600)


def sqrt(_):
    print("the last words", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGSEGV)


def tanh(_):
    raise NotImplementedError("there is no such kernel")


def abs(_):
    raise OutOfMemoryError("CUDA out of memory")


def sin(_):
    cuda.is_lost = True
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


class cuda(types.ModuleType):
    is_lost = False

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def is_available(self):
        return os.environ.get("STAND_IN") != "no-gpu"

    def device_count(self):
        return 1

    def current_device(self):
        return 0

    def synchronize(self):
        if cuda.is_lost:
            raise RuntimeError("CUDA error: an illegal memory access was encountered")

    def get_device_properties(self, _):
        return types.SimpleNamespace(
            name="Stand-in", L2_cache_size=1 << 20, multi_processor_count=4, total_memory=1 << 34, major=9, minor=0, uuid="0-1",
        )


class Event:
    def __init__(self, name, start, duration):
        self.name, self.start_ns, self.duration_ns = (lambda v=value: v for value in (name, start, duration))

    def device_type(self):
        return "CUDA"


class profile:
    def __init__(self, **_):
        noted.clear()
        self.profiler = types.SimpleNamespace(kineto_results=types.SimpleNamespace(events=lambda: [Event(*n) for n in noted]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


cuda = cuda("torch.cuda")
version = types.SimpleNamespace(cuda="13.0")
autograd = types.SimpleNamespace(DeviceType=types.SimpleNamespace(CUDA="CUDA"))
profiler = types.SimpleNamespace(profile=profile, ProfilerActivity=types.SimpleNamespace(CUDA="CUDA"))
