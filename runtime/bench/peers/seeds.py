"""The bits that an element is made of: a function of the row's seed, the tensor's name, the set and its own position, the same
as those of `tileops-bench`."""

BITS = (1 << 64) - 1
GOLDEN, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
# `WORKLOAD_SEED` of the manifest's language: with it a row without a seed has the one that `tileops-bench` gives it.
WORKLOAD_SEED = 0x74696C656F707321


def mixed(data, seed):
    """FNV-1a over `data`, and SplitMix64's finalizer."""
    z = 0xCBF29CE484222325
    for byte in data:
        z = (z ^ byte) * 0x100000001B3 & BITS
    z = (z ^ seed) + GOLDEN & BITS
    z = (z ^ z >> 30) * FIRST & BITS
    z = (z ^ z >> 27) * SECOND & BITS
    return z ^ z >> 31


def row_seed(op, case):
    return mixed(op.encode() + b"\0" + case.encode(), WORKLOAD_SEED)


def tensor_seed(row, name, number):
    return mixed(name.encode() + b"\0" + number.to_bytes(8, "little"), row)


def signed(z):
    """The 64 bits of `z`, as PyTorch stores them: with a sign."""
    return ((z + (1 << 63)) & BITS) - (1 << 63)


def shifted(z, by):
    """Signed bits, shifted to the right as if they had no sign."""
    return (z >> by) & ((1 << (64 - by)) - 1)


def bits(seed, at):
    """32 bits for position `at` of the tensor with `seed`; of a tensor of positions, a tensor, whose products wrap."""
    wrapped = signed if isinstance(at, int) else lambda z: z
    z = wrapped((at + 1) * signed(GOLDEN) + signed(seed))
    z = wrapped((z ^ shifted(z, 30)) * signed(FIRST))
    z = wrapped((z ^ shifted(z, 27)) * signed(SECOND))
    return shifted(z ^ shifted(z, 31), 32)


def offset(drawn, span):
    """`drawn` bits as one of `span` whole numbers from zero."""
    return shifted(drawn * max(1, min(span, 1 << 32)), 32)
