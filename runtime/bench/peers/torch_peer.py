#!/usr/bin/env python3
"""Times PyTorch, eager and compiled, on the rows of an op manifest.

    tileops-bench --price --values | torch_peer.py --out torch.jsonl

Reads rows as `tileops-bench --price --values` prints them (or any records; the values of metadata tensors are then drawn)
and writes records of the same schema, tagged `torch-eager` or `torch-compile`. Times are device-busy times by CUPTI, through
torch.profiler: before each call 256 MiB are read, as `tileops-bench` does it, and sets of inputs take turns.

A peer is not judged against the op's reference. Where PyTorch has no function for an op, a composition stands for it, in
`torch_table.py`.

Exit codes: 0 every row that has a peer has its times, 1 one has none (its record says why), or a line was no row, 2 the
program could not do its work, 128 + N signal N ended it.
"""

import argparse
import datetime
import difflib
import fnmatch
import math
import os
import signal
import sys
import time

import rows as files
from children import Fault, Gone, Late, compile_ahead, started, work
from seeds import row_seed

# With the project's: a test holds it.
VERSION = "0.1.0"
TAGS = ("torch-eager", "torch-compile")
KEPT = (
    "schema", "op", "case", "family", "dtype", "params", "tensors", "flops", "bytes", "read_bytes", "roof_key",
    "entry_hash", "data_terms", "seed",
)


def say(line):
    """A line on standard error. A reader that has gone away is no reason to fail."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        pass


class Ended(BaseException):
    """A signal came: Ctrl-C, or being told to end."""

    def __init__(self, number):
        super().__init__(number)
        self.number = number


def end(number, _):
    # A second one ends the program at once.
    signal.signal(number, signal.SIG_DFL)
    raise Ended(number)


# --- What is asked for ---------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message):
        say(f"error: {message} (--help says more)")
        sys.exit(2)


def number(text, what, is_one, of=float):
    try:
        value = of(text)
    except ValueError:
        value = None
    if value is None or not is_one(value):
        raise argparse.ArgumentTypeError(f"`{text}` is not {what}")
    return value


def seconds(text):
    return number(text, "a time in seconds: write a number above 0, as in `1.5`", lambda n: 0 < n and math.isfinite(n))


def share(text):
    return number(text, "a share in percent: write a number above 0 and at most 100", lambda n: 0 < n <= 100)


def count(text):
    return number(text, "a count of processes: write 0 for none, or up to 1024", lambda n: 0 <= n <= 1024, int)


def device(text):
    name, _, ordinal = text.partition(":")
    if name != "cuda" or not (ordinal.isdecimal() and ordinal.isascii() or text == "cuda"):
        raise argparse.ArgumentTypeError(f"`{text}` is no GPU: write `cuda:N`, from `cuda:0`")
    return int(ordinal or 0)


def parsed():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(name, text, **more):
        parser.add_argument(name, help=text, **more)

    add("rows", "files of rows, `.jsonl` or `.jsonl.zst`, or folders of them; standard input without one", nargs="*")
    add("--out", "the file to append records to; one that ends in `.zst` is compressed at the end. Without it, they are "
        "printed", metavar="FILE")
    add("--op", "only the ops whose name matches", metavar="GLOB", default="*")
    add("--row", "only the rows whose case matches", metavar="GLOB", default="*")
    add("--peer", "only this one", choices=TAGS)
    add("--device", "the GPU, `cuda:N`; without it the first", metavar="DEVICE", type=device, default=0)
    add("--resume", "continue the file of --out: rows that have their times there are not run again", action="store_true")
    add("--within", "take samples until the median is known to within this share of it (1)", metavar="PERCENT", type=share,
        default=1.0)
    add("--budget", "the longest time that samples of a row are taken for (1)", metavar="SECONDS", type=seconds, default=1.0)
    add("--limit", "the longest time that a row may take, compiling included; a process that takes longer is killed, and the "
        "rows behind it go to a new one (120)", metavar="SECONDS", type=seconds, default=120.0)
    add("--jobs", "how many processes compile ahead of the first time; 0 for none", metavar="COUNT", type=count,
        default=max(1, (os.cpu_count() or 1) // 2))
    add("--version", "the version", action="version", version=f"torch_peer {VERSION}")
    arguments = parser.parse_args()
    if arguments.resume and not arguments.out:
        parser.error("--resume continues the file of --out: name it")
    if not arguments.rows and sys.stdin is not None and sys.stdin.isatty():
        parser.error("there are no rows: name a file, or pipe in what `tileops-bench --price --values` prints")
    return arguments


def near(pattern, names):
    """What was meant by a pattern that matches none of `names`."""
    bare = pattern.strip("*")
    parts = [name for name in names if bare and bare.lower() in name.lower()]
    found = difflib.get_close_matches(pattern, names, 1) or parts[:1]
    return f"; `{found[0]}` is close" if found else ""


def selected(rows, arguments):
    """The rows that are asked for, each once."""
    matching = [row for row in rows if fnmatch.fnmatchcase(row["op"], arguments.op)]
    if not matching:
        meant = near(arguments.op, sorted({row["op"] for row in rows}))
        raise Fault(f"no row is of an op that matches --op `{arguments.op}`{meant}")
    found = [row for row in matching if fnmatch.fnmatchcase(row["case"], arguments.row)]
    if not found:
        meant = near(arguments.row, sorted({row["case"] for row in matching}))
        raise Fault(f"no row's case matches --row `{arguments.row}`{meant}")
    unique = {}
    for row in found:
        unique.setdefault((row["op"], row["case"], row.get("entry_hash")), row)
    return list(unique.values())


def runnable(rows, peers):
    """The rows that can be timed; the others are counted, with why."""
    unpriced = [row for row in rows if "failure" in row]
    without = [row for row in rows if "failure" not in row and row["op"] not in peers]
    if unpriced:
        say(f"not run: {len(unpriced)} rows whose record is of a failure")
    if without:
        ops = sorted({row["op"] for row in without})
        more = ", …" if len(ops) > 4 else ""
        say(f"not run: {len(without)} rows of {len(ops)} ops without a peer: {', '.join(ops[:4])}{more}")
    found = [row for row in rows if "failure" not in row and row["op"] in peers]
    if not found:
        raise Fault(f"none of the {len(rows)} rows can be run")
    return found


# --- Records -------------------------------------------------------------------------------------------------------------


def run_of(libraries):
    started_at = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    run = {"tool": "torch_peer", "version": VERSION}
    run |= files.revision(os.path.dirname(os.path.abspath(__file__)))
    return {**run, "started": started_at, "command": sys.argv, "libraries": libraries}


def time_rows(arguments, store, rows, limit):
    """Times rows, and gives their records to `store` as they come. Says how many have no time."""
    times = [min(0.1, arguments.budget), arguments.budget]
    job = {"device": arguments.device, "within": arguments.within / 100, "seconds": times}
    child, ready = started(job)
    try:
        known = runnable(rows, set(ready["peers"]))
        say(f"{len(known)} of {len(rows)} rows have a peer")
        wanted = [(row, tag) for row in known for tag in TAGS if arguments.peer in (None, tag)]

        def key(row, tag):
            return (row["op"], row["case"], tag, row.get("entry_hash"))

        done = store.continued({key(*each) for each in wanted}, ready["device"]["name"])
        due = [each for each in wanted if key(*each) not in done]
        if done:
            say(f"{len(done)} of {len(wanted)} times are recorded already")
        begun = time.perf_counter()
        # Before the first time is taken: nothing else is to be on the GPU then.
        to_compile = [row for row, peer in due if peer == "torch-compile"]
        if arguments.jobs > 0 and len(to_compile) > 1:
            compile_ahead(job, to_compile, min(arguments.jobs, len(to_compile)), limit)
            say(f"compiled ahead in {time.perf_counter() - begun:.0f} s")
        run, failed = run_of(ready["libraries"]), 0
        for row, peer in due:
            if child is None:
                child, _ = started(job)
            record = {"schema": files.SCHEMA, **{name: row[name] for name in KEPT if name in row}, "peer": peer}
            try:
                answer = child.ask({"row": row, "peer": peer}, limit)
            except (Late, Gone) as ended:
                answer = {"failure": ended.failure(), "is_spent": True}
            record |= {name: answer[name] for name in ("timing", "failure") if name in answer}
            if answer.get("is_spent"):
                child.end()
                child = None
            failure = record.get("failure")
            failed += failure is not None
            record["device"], record["run"] = ready["device"], run
            store.write(record)
            if failure:
                said = f"{failure['kind']}: {failure['message']}"
            else:
                said = f"{record['timing']['device_busy_ns'] / 1e3:.2f} us"
            say(f"{row['op']} {row['case']} {peer}  {said}")
        say(f"{time.perf_counter() - begun:.0f} s, {failed} records without a time")
        return failed
    finally:
        if child is not None:
            child.end()


def main():
    arguments = parsed()
    with files.Store(arguments.out, arguments.resume) as store:
        rows, problems = files.read(arguments.rows, store.path)
        for problem in problems:
            say(problem)
        if not rows:
            source = ", ".join(arguments.rows) or "standard input"
            raise Fault(f"{source}: there is no row: write what `tileops-bench --price --values` prints")
        chosen = selected(rows, arguments)
        for row in chosen:
            row.setdefault("seed", row_seed(row["op"], row["case"]))
        failed = time_rows(arguments, store, chosen, arguments.limit)
        store.finish()
    return 1 if failed or problems else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--worker"]:
        sys.exit(work())
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, end)
    try:
        code = main()
    except Fault as fault:
        say(f"error: {fault}")
        code = 2
    except BrokenPipeError:
        # Whoever reads has read enough; nor is there anyone for what Python would flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Ended as ended:
        say(f"ended by signal {ended}: the records until here are whole, and --resume continues a file of them")
        code = 128 + ended.number
    sys.exit(code)
