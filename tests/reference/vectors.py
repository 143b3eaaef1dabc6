"""Inputs and outputs of docs/conformance.json and docs/networks.json."""
import hashlib
import itertools
import math
import struct
from collections import namedtuple

Input = namedtuple("Input", "values shape")
Tensor = namedtuple("Tensor", "name values shape digest")  # an output that is a tensor of a state
MASK64 = (1 << 64) - 1
_CODES = {"f32": ("<I", "<f", 8), "f64": ("<Q", "<d", 16)}
_INTEGERS = {"u8": (1, 2), "u32": (4, 8), "u64": (8, 16), "i64": (8, 16)}


def word(seed, i):
    """SplitMix64, its upper half."""
    z = ((seed << 32) + i + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return (z ^ (z >> 31)) >> 32


def from_bits(kind, digits):
    """A float or double from its bits as hexadecimal digits."""
    integer, real, _ = _CODES[kind]
    return struct.unpack(real, struct.pack(integer, int(digits, 16)))[0]


def unit(w):
    return (w >> 8) * 2.0 ** -23 - 1.0


def wide(w):
    return unit(w) * 2.0 ** (w % 256 % 33 - 16)


def sparse(w):
    if w % 8 > 0:
        return wide(w)
    return -0.0 if w & 8 else 0.0


MAKERS = {
    "bits": lambda w: struct.unpack("<f", struct.pack("<I", w))[0],
    "unit": unit,
    "positive": lambda w: (w >> 8) * 2.0 ** -24,
    "wide": wide,
    "sparse": sparse,
}


def make(description, specials):
    kind, shape = description["type"], description["shape"]
    count = math.prod(shape)
    if "values" in description:
        values = [from_bits(kind, digits) for digits in description["values"]]
    elif description["make"] == "specials":
        table = [from_bits("f32", digits) for digits in specials]
        values = [table[i // description["each"] % len(table)] for i in range(count)]
    elif description["make"] == "count":
        values = [i % 256 for i in range(count)]
    elif kind == "u8":
        values = [word(description["seed"], i) % 256 for i in range(count)]
    elif kind == "f64":
        seed, scale = description["seed"], from_bits("f64", description["scale"])
        values = [(((word(seed, 2 * i) << 21) + (word(seed, 2 * i + 1) >> 11)) * 2.0 ** -52 - 1.0) * scale
                  for i in range(count)]
    else:
        maker, seed = MAKERS[description["make"]], description["seed"]
        values = [maker(word(seed, i)) for i in range(count)]
    assert len(values) == count
    return Input(values, shape)


def parameter(value):
    if isinstance(value, dict):
        (kind, digits), = value.items()
        return from_bits(kind, digits)
    return value


def encode(kind, values):
    """Little-endian bytes; every NaN with the same bits; digests as they are."""
    if kind == "digest":
        return b"".join(values)
    if kind in _INTEGERS:
        return b"".join(int(v).to_bytes(_INTEGERS[kind][0], "little", signed=kind == "i64") for v in values)
    code = _CODES[kind][1]
    nan = bytes.fromhex("0000c07f" if kind == "f32" else "000000000000f87f")
    return b"".join(struct.pack(code, v) if v == v else nan for v in values)


def differences(case, outputs):
    """The published results of a case from which the outputs differ; empty if all agree."""
    found = []
    expected = list(case["outputs"].items())
    if len(outputs) != len(expected):
        return [f"{len(outputs)} outputs, {len(expected)} published"]
    digest = hashlib.sha256()
    for (name, output), values in zip(expected, outputs):
        if isinstance(values, Tensor):
            ours = (values.name, values.shape, values.digest.hex())
            if ours != (name, output["shape"], output["digest"]):
                found.append(f"{name}: {ours[0]} {ours[1]} {ours[2]}, published {output['shape']} {output['digest']}")
            values = values.values
        encoded = encode(output["type"], values)
        digest.update(encoded)
        size = len(encoded) // max(len(values), 1)
        if len(values) != output["count"]:
            found.append(f"{name}: {len(values)} values, {output['count']} published")
        for i, published in enumerate(itertools.islice(output["starts"], len(values))):
            ours = encoded[i * size:(i + 1) * size][::1 if output["type"] == "digest" else -1].hex()
            if ours != published:
                found.append(f"{name}[{i}] is {ours}, published {published}")
                break
    if digest.hexdigest() != case["sha256"]:
        found.append(f"sha256 is {digest.hexdigest()}, published {case['sha256']}")
    return found
