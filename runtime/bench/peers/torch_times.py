"""What a row takes: device-busy times by CUPTI, through torch.profiler, as `tileops-bench` takes them. Runs in a child of
`torch_peer.py`, whose requests come line by line."""

import ctypes
import math
import time

import torch
import triton
import triton.language as tl

from torch_inputs import Set
from torch_table import PEERS

FLUSH_BYTES = 256 << 20
WARM_UP = 5
MAX_SETS = 16
LEAST_SAMPLES, MOST_SAMPLES = 20, 10_000
CONFIDENCE = 0.95

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


def properties():
    return torch.cuda.get_device_properties(torch.cuda.current_device())


class Clocks:
    """Clocks, power and what holds the clocks back, by NVML; where it is missing, why."""

    REASONS = {
        0x2: "applications_clocks_setting", 0x4: "sw_power_cap", 0x8: "hw_slowdown", 0x10: "sync_boost",
        0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake_slowdown",
    }

    def __init__(self):
        self.sm, self.memory, self.reasons, self.power, self.temperature = [], None, set(), 0.0, 0
        self.nvml, self.handle, self.missing = None, ctypes.c_void_p(), None
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
            uuid = f"GPU-{properties().uuid}".encode()
            code = nvml.nvmlInit_v2()
            code = code or nvml.nvmlDeviceGetHandleByUUID(uuid, ctypes.byref(self.handle))
            if code == 0:
                self.nvml = nvml
            else:
                self.missing = f"NVML does not know the device: error {code}"
        except OSError as error:
            self.missing = f"NVML cannot be loaded: {error}"

    def driver(self):
        if self.nvml is None:
            return None
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self.nvml.nvmlSystemGetDriverVersion(text, 96) == 0 else None

    def read(self):
        if self.nvml is None:
            return
        value = ctypes.c_uint()
        code = self.nvml.nvmlDeviceGetClockInfo(self.handle, 1, ctypes.byref(value))
        if code == 0:
            self.sm.append(value.value)
        else:
            self.missing = f"NVML does not tell the clock: error {code}"
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
            return {"reason": self.missing} if self.missing else None
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
        self.l2 = properties().L2_cache_size
        self.blocks = properties().multi_processor_count * 2
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
        memory = properties().total_memory // 2
        count = max(1, min(max(2, min(MAX_SETS, -(-4 * self.l2 // size))), memory // size))
        return [first, *(Set(row, number) for number in range(1, count))]


# --- The child -----------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """Why this process can time nothing, and another would not do better."""


def take(number):
    """Takes up GPU number `number`."""
    if torch.version.cuda is None:
        raise Refused("this PyTorch is built without CUDA: install one that has it (https://pytorch.org/get-started)")
    if not torch.cuda.is_available():
        raise Refused("PyTorch finds no GPU: `nvidia-smi` says what the driver knows")
    if number >= torch.cuda.device_count():
        raise Refused(f"there is no `cuda:{number}`: PyTorch finds {torch.cuda.device_count()}, from `cuda:0`")
    torch.cuda.set_device(number)


def ready():
    """What records say of this process, and what it has a peer for."""
    found = properties()
    device = {
        "name": found.name, "cuda": torch.version.cuda, "l2_bytes": found.L2_cache_size,
        "compute_capability": f"{found.major}.{found.minor}", "uuid": str(found.uuid).replace("-", ""),
    }
    if driver := Clocks().driver():
        device["driver"] = driver
    libraries = {"torch": str(torch.__version__), "triton": str(triton.__version__)}
    return {"device": device, "libraries": libraries, "peers": sorted(PEERS)}


def is_lost():
    """Whether the GPU's context answers every call with an error from here on."""
    try:
        torch.cuda.synchronize()
        return False
    except Exception:  # noqa: BLE001: whatever it says
        return True


def failure_of(error):
    """What a record says of an error, and whether this process can run no other row."""
    lost = is_lost()
    if isinstance(error, torch.OutOfMemoryError):
        kind = "out_of_memory"
    elif isinstance(error, NotImplementedError):
        kind = "unsupported"
    else:
        kind = "crashed" if lost else "failed"
    lines = f"{type(error).__name__}: {error}".splitlines()
    return {"kind": kind, "message": lines[0][:400]}, lost


def call_of(row):
    function, params = PEERS[row["op"]], row.get("params", {})
    return lambda tensors: function(params, tensors)


def compiled(call):
    torch._dynamo.reset()
    return torch.compile(call, dynamic=False)


class Child:
    """Answers requests: a row to time, or one to compile into PyTorch's caches on disk."""

    def __init__(self, within, seconds):
        self.bench = None
        self.within, self.seconds = within, seconds
        # The sets of the row that was asked for last: both its peers run on them.
        self.row, self.sets = None, None

    def time(self, row, peer):
        self.bench = self.bench or Bench(self.within, self.seconds)
        if self.row != row:
            self.row, self.sets = None, None
            torch.cuda.empty_cache()
            self.row, self.sets = row, self.bench.sets(row)
        call = call_of(row)
        return {"timing": self.bench.time(compiled(call) if peer == "torch-compile" else call, self.sets)}

    def compile(self, row):
        with torch.no_grad():
            compiled(call_of(row))(Set(row, 0).tensors)
            torch.cuda.synchronize()
        return {"compiled": True}

    def answer(self, request):
        try:
            if "compile" in request:
                return self.compile(request["compile"])
            return self.time(request["row"], request["peer"])
        except Exception as error:  # noqa: BLE001: whatever a row does, the rows behind it are run
            failure, lost = failure_of(error)
        self.row, self.sets = None, None
        if not lost:
            torch.cuda.empty_cache()
        return {"failure": failure, "is_spent": lost}


def work(job, requests, tell):
    """Does what `requests` ask for, and tells what came of each."""
    try:
        take(job["device"])
        tell({"ready": ready()})
    except Refused as refused:
        return tell({"refused": str(refused)})
    child = Child(job["within"], job["seconds"])
    for request in requests:
        answer = child.answer(request)
        tell(answer)
        if answer.get("is_spent"):
            return None
    return None
