"""Processes that import PyTorch and time rows. One that hangs or crashes costs the row that it was at."""

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

# How long a process may take until it has imported PyTorch and taken the GPU up.
START_SECONDS = 300
# How long rows are compiled ahead at most; what is left is compiled where it is timed.
AHEAD_SECONDS = 300

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_peer.py")


class Fault(Exception):
    """Why the program cannot do its work."""


class Late(Exception):
    """A process said nothing for too long, and was killed."""

    def __init__(self, seconds):
        super().__init__(f"nothing came of it in {seconds:g} s, and its process was killed")

    def failure(self):
        return {"kind": "hung", "message": str(self)}


class Gone(Exception):
    """A process ended that should not have."""

    def failure(self):
        return {"kind": "crashed", "message": str(self)}


class Child:
    """A process, whose requests and answers are lines of JSON."""

    def __init__(self, job, environment=None):
        self.stderr = tempfile.TemporaryFile()
        # A group of its own: what PyTorch starts to compile ends with it.
        self.process = subprocess.Popen(
            [sys.executable, PROGRAM, "--worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.stderr,
            env={**os.environ, **(environment or {})}, start_new_session=True,
        )
        self.is_ended = False
        self.lines = queue.SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()
        self.send(job)

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, request):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            # It is gone, which is said where it is listened to.
            pass

    def answer(self, limit):
        try:
            line = self.lines.get(timeout=limit)
        except queue.Empty:
            self.end()
            raise Late(limit) from None
        if line is None:
            raise Gone(self.gone())
        return json.loads(line)

    def ask(self, request, limit):
        self.send(request)
        return self.answer(limit)

    def gone(self):
        """How it ended, and what it said last."""
        code = self.process.wait()
        if code == -signal.SIGKILL:
            ended = "its process was killed (signal 9), perhaps by the system for want of memory"
        else:
            ended = f"its process ended by signal {-code}" if code < 0 else f"its process ended with code {code}"
        self.stderr.seek(0, os.SEEK_END)
        self.stderr.seek(max(0, self.stderr.tell() - 4096))
        said = [line.strip() for line in self.stderr.read().decode(errors="replace").splitlines() if line.strip()]
        return ": ".join([ended, *([" / ".join(said[-4:])[-800:]] if said else [])])

    def end(self):
        if self.is_ended:
            return
        self.is_ended = True
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except OSError:
            # All of the group have ended.
            pass
        self.process.wait()
        for pipe in (self.process.stdin, self.stderr):
            try:
                pipe.close()
            except OSError:
                pass


def started(job, environment=None):
    """A process that has taken the GPU up, and what it says of itself."""
    child = Child(job, environment)
    try:
        answer = child.answer(START_SECONDS)
        if "refused" in answer:
            raise Fault(answer["refused"])
        return child, answer["ready"]
    except (Late, Gone) as ended:
        child.end()
        raise Fault(f"PyTorch cannot be started: {ended}") from None
    except BaseException:
        child.end()
        raise


def compile_ahead(job, rows, jobs, limit):
    """Compiles the rows into PyTorch's caches on disk, by `jobs` processes; what fails is said where the row is timed."""
    left = queue.SimpleQueue()
    for row in rows:
        left.put(row)
    until = time.monotonic() + AHEAD_SECONDS
    children, lock = set(), threading.Lock()

    def one():
        child = None
        try:
            while (rest := until - time.monotonic()) > 0:
                row = left.get_nowait()
                if child is None:
                    # Each compiles by itself: as many threads again in each would be too many.
                    child = Child(job, {"TORCHINDUCTOR_COMPILE_THREADS": "1"})
                    with lock:
                        children.add(child)
                    if "ready" not in child.answer(min(START_SECONDS, rest)):
                        return
                try:
                    answer = child.ask({"compile": row}, min(limit, max(0.0, until - time.monotonic())))
                except (Late, Gone):
                    answer = {"is_spent": True}
                if answer.get("is_spent"):
                    child.end()
                    child = None
        except (queue.Empty, Late, Gone):
            pass
        finally:
            if child is not None:
                child.end()

    threads = [threading.Thread(target=one, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    finally:
        # After an interruption: none outlives this process.
        with lock:
            for child in children:
                child.end()


# --- In the process ------------------------------------------------------------------------------------------------------


def missing(error):
    """Why PyTorch cannot be imported, and what to do."""
    if isinstance(error, ImportError) and error.name in ("torch", "triton"):
        what = {"torch": "PyTorch", "triton": "Triton"}[error.name]
        install = f"install it with `{sys.executable} -m pip install {error.name}`"
        return f"{what} is not installed for `{sys.executable}`: {install}, or run this by the Python that has it"
    return f"PyTorch cannot be imported by `{sys.executable}`: {type(error).__name__}: {error}"


def requests_of(lines):
    while True:
        yield json.loads(lines.get())


def work():
    """Answers the requests of standard input, until it ends."""
    # What PyTorch prints is no message.
    messages = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines = queue.SimpleQueue()

    def listen():
        for line in sys.stdin.buffer:
            lines.put(line)
        # The parent is gone. That is so in the middle of a call, too, which may never return; and what it started to compile
        # ends with it.
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os._exit(0)

    def tell(message):
        messages.write(json.dumps(message, separators=(",", ":")) + "\n")
        messages.flush()

    threading.Thread(target=listen, daemon=True).start()
    job = json.loads(lines.get())
    try:
        import torch_times
    except Exception as error:  # noqa: BLE001: a library that is missing is an error of the dynamic linker
        tell({"refused": missing(error)})
        return 0
    torch_times.work(job, requests_of(lines), tell)
    return 0
