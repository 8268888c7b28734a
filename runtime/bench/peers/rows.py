"""Rows and records in files: JSON Lines, plain or compressed. A line that is none is told by file and line."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile

from children import Fault

SCHEMA = "tileops.record/1"


def said(error):
    return error.strerror or str(error)


# --- Compressed files ----------------------------------------------------------------------------------------------------


def zstd(path):
    """What packs and unpacks bytes for the file at `path`."""
    try:
        from compression import zstd as own  # Python 3.14

        return own.compress, own.decompress
    except ImportError:
        pass
    try:
        import zstandard

        def unpack(data):
            return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()

        return zstandard.ZstdCompressor().compress, unpack
    except ImportError:
        pass
    program = shutil.which("zstd")
    if program is None:
        raise Fault(
            f"`{path}` is a compressed file, and nothing here reads or writes one: install the program `zstd`, or "
            f"`{sys.executable} -m pip install zstandard`, or name a file that ends in `.jsonl`"
        )

    def by(*options):
        def run(data):
            done = subprocess.run([program, "-q", "-c", *options], input=data, capture_output=True)
            if done.returncode != 0:
                raise OSError(done.stderr.decode(errors="replace").strip() or f"zstd ended with code {done.returncode}")
            return done.stdout

        return run

    return by(), by("-d")


def contents(path):
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise Fault(f"cannot read `{path}`: {said(error)}") from None
    if not path.endswith(".zst"):
        return data
    unpack = zstd(path)[1]
    try:
        return unpack(data)
    except Exception as error:  # noqa: BLE001: each of the three has errors of its own
        raise Fault(f"cannot unpack `{path}`: {error}") from None


# --- Rows ----------------------------------------------------------------------------------------------------------------


def listed(path):
    """The files of `path`: itself, or those of a folder."""
    if not os.path.isdir(path):
        return [path]
    found = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(path)
        for name in names
        if name.endswith((".jsonl", ".jsonl.zst"))
    ]
    if not found:
        raise Fault(f"`{path}` holds no file of rows: one ends in `.jsonl` or `.jsonl.zst`")
    return sorted(found)


def is_list_of(value, kind):
    return isinstance(value, list) and all(isinstance(item, kind) and not isinstance(item, bool) for item in value)


def record_of(line):
    """The record of a line; a `ValueError` says why it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        # In a line of its own the column is the place.
        raise ValueError(f"it is no JSON: {str(error).replace('line 1 ', '')}") from None
    if not isinstance(record, dict):
        raise ValueError("it is no JSON object")
    schema = record.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise ValueError(f"its schema is `{schema}`, and this program reads `{SCHEMA}`")
    for name in ("op", "case"):
        if not isinstance(record.get(name), str):
            raise ValueError(f"it has no `{name}`")
    return record


def row_of(line):
    """The row of a line; a `ValueError` says why it is none."""
    row = record_of(line)
    for name in ("params", "values", "distributions"):
        if not isinstance(row.get(name, {}), dict):
            raise ValueError(f"its `{name}` is no object")
    if not isinstance(row.get("seed", 0), int):
        raise ValueError("its `seed` is no whole number")
    tensors = row.get("tensors")
    if not is_list_of(tensors, dict):
        raise ValueError("it has no `tensors`, which say what its inputs are")
    for tensor in tensors:
        is_named = all(isinstance(tensor.get(name), str) for name in ("name", "dtype"))
        if not (is_named and is_list_of(tensor.get("shape"), int)):
            raise ValueError("one of its `tensors` lacks its name, dtype or shape")
    return row


def read(paths, out):
    """The rows of files and folders, or of standard input, and what is no row there."""
    if not paths:
        sources = [("standard input", sys.stdin.buffer.read() if sys.stdin else b"")]
    else:
        names = [name for path in paths for name in listed(path)]
        for name in names:
            if out and os.path.exists(name) and os.path.exists(out) and os.path.samefile(name, out):
                raise Fault(f"`{name}` is the file of --out, too: name another to write to")
        sources = [(name, contents(name)) for name in names]
    rows, problems = [], []
    for name, data in sources:
        for number, line in enumerate(data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                rows.append(row_of(line))
            except ValueError as error:
                problems.append(f"{name}:{number}: not a row: {error}; write what `tileops-bench --price --values` prints")
    return rows, problems


# --- Records -------------------------------------------------------------------------------------------------------------


def revision(folder):
    """The revision that git names of the sources in `folder`, and whether they have changes that it does not hold."""
    def git(*arguments):
        try:
            done = subprocess.run(["git", "-C", folder, *arguments], capture_output=True, text=True)
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # A copy within somebody else's repository has none.
    if git("ls-files", "--error-unmatch", "torch_peer.py") is None:
        return {}
    head = git("rev-parse", "HEAD")
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
    return {"revision": head, "dirty": changed != ""} if head else {}


def lines_of(path):
    """The records of a file, each with its line. A torn end, which a killed run leaves, is none; anything else is refused."""
    found = []
    lines = contents(path).split(b"\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append((line, record_of(line)))
        except ValueError as error:
            start = b'{"schema":'
            if number == len(lines) and (line.startswith(start) or start.startswith(line)):
                continue
            raise Fault(
                f"{path}:{number}: not a record: {error}; --resume continues a file of records alone: take the line out, or "
                "name another file"
            ) from None
    return found


def locked(path):
    """Opens a file for appending, and keeps other runs away from it for as long as it is open."""
    while True:
        file = open(path, "ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise Fault(f"another run is writing `{path}`: wait until it has ended, or name another file") from None
        except OSError:
            # A file system without locks, or no file.
            return file
        # Another run may just have put a new file in its place.
        if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
        file.close()


def replaced(path, data):
    """Puts a file with these contents in the place of another, whole; it is open for appending, and locked."""
    descriptor, beside = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(path)))
    file = os.fdopen(descriptor, "wb")
    try:
        file.write(data)
        file.flush()
        os.fsync(descriptor)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            # A file system without locks.
            pass
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(beside, os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o666 & ~mask)
        os.replace(beside, os.path.realpath(path))
    except BaseException:
        file.close()
        os.unlink(beside)
        raise
    return file


def is_filled(path):
    return os.path.isfile(path) and os.path.getsize(path) > 0


class Store:
    """Takes records: appended one by one, so that whatever ends the program leaves whole ones behind."""

    def __init__(self, path, is_resumed):
        self.path, self.packed, self.file, self.lines = path, None, None, []
        if path is None:
            return
        if path.endswith(".zst"):
            # Until the end the records are beside it, without that ending.
            self.packed, self.path = path, path.removesuffix(".zst")
            self.pack = zstd(path)[0]
        for name in filter(None, (self.path, self.packed)):
            if os.path.isdir(name):
                raise Fault(f"cannot write `{name}`: it is a folder; name a file")
        self.is_new = not os.path.exists(self.path)
        if not is_resumed:
            self.refuse_filled()
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
            self.file = locked(self.path)
        except OSError as error:
            raise Fault(f"cannot write `{self.path}`: {said(error)}") from None
        if is_resumed:
            before = lines_of(self.packed) if self.packed and os.path.exists(self.packed) else []
            own = lines_of(self.path) if os.path.isfile(self.path) else []
            known = {line for line, _ in own}
            self.lines = [line for line in before if line[0] not in known] + own
        else:
            # Another run may have filled it since.
            self.refuse_filled()

    def refuse_filled(self):
        for name in filter(None, (self.path, self.packed)):
            if is_filled(name):
                raise Fault(f"`{name}` has records: continue it with --resume, or name another file")

    def continued(self, wanted, device):
        """Which of the `wanted` rows and peers have a time by `device`. Their records without one are taken out."""
        def row(record):
            return (record["op"], record["case"], record.get("peer"), record.get("entry_hash"))

        def is_ours(record):
            return (record.get("device") or {}).get("name", device) == device

        timed = [record for _, record in self.lines if record.get("timing") and is_ours(record)]
        done = {row(record) for record in timed} & wanted
        asked = {key[:3] for key in wanted}
        kept = [
            line for line, record in self.lines
            if record.get("timing") or not record.get("peer") or not is_ours(record) or row(record)[:3] not in asked
        ]
        whole = b"".join(line + b"\n" for line in kept)
        if self.file is not None and os.path.isfile(self.path) and whole != contents(self.path):
            try:
                self.file = replaced(self.path, whole)
            except OSError as error:
                raise Fault(f"cannot write `{self.path}`: {said(error)}") from None
        return done

    def put(self, data):
        try:
            self.file.write(data)
            self.file.flush()
        except OSError as error:
            raise Fault(f"cannot write `{self.path}`: {said(error)}") from None

    def write(self, record):
        line = json.dumps(record, separators=(",", ":")).encode() + b"\n"
        if self.file is not None:
            self.put(line)
        else:
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    def finish(self):
        """Compresses the file where that is asked for."""
        if self.packed is None:
            return
        try:
            replaced(self.packed, self.pack(contents(self.path))).close()
            # Until here the file is this run's own.
            os.unlink(self.path)
            self.file.close()
        except OSError as error:
            raise Fault(f"cannot compress `{self.path}`: {said(error)}") from None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A file that no record came to was none before.
        if self.file is not None and not self.file.closed:
            self.file.close()
            if self.is_new and os.path.getsize(self.path) == 0:
                os.unlink(self.path)
