"""What a forger has who has everything but the private key: files that fit each other, made anew."""

import hashlib
import io
import struct
import zipfile
import zlib
from fractions import Fraction

BLOCK, TILE = 65536, 16384


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def tree_root(leaves, length):
    def top(nodes):
        if len(nodes) == 1:
            return nodes[0]
        left = 1 << ((len(nodes) - 1).bit_length() - 1)
        return sha(b"\1", top(nodes[:left]), top(nodes[left:]))

    return sha(b"\2", struct.pack("<QQ", BLOCK, length), top(leaves))


def sidecar(data, tensors=""):
    """Fits any bytes: docs/checkpoint.md. tensors: its tensor lines."""
    leaves = [sha(b"\0", data[at:at + BLOCK]) for at in range(0, len(data), BLOCK)]
    text = f"lockstep-sha256-tree 1 leaf={BLOCK} length={len(data)} root={tree_root(leaves, len(data)).hex()}\n"
    text += "".join(leaf.hex() + "\n" for leaf in leaves) + tensors
    return text + "check " + hashlib.sha256(text.encode()).hexdigest() + "\n"


def rechained(lines):
    """A ledger's lines, each with the chain that fits it and those above: docs/ledger.md."""
    chain = bytes(32)
    for line in lines:
        text = line[:line.index(',"chain":')]
        chain = sha(chain, text.encode())
        yield f'{text},"chain":"{chain.hex()}"}}\n'


def leaf_keys():
    """include/lockstep/hash/leaf.h: anybody has them."""
    return [word for i in range(TILE // 32 + 1)
            for word in struct.unpack("<8I", sha(b"lockstep leaf keys 0", struct.pack("<Q", i)))]


def leaf_hash(tile, keys):
    """Both sums of a tile of whole pairs, without the term of its length."""
    words = struct.unpack(f"<{len(tile) // 4}I", tile)

    def total(shift):
        return sum((words[p] + keys[p + shift]) % 2**32 * ((words[p + 1] + keys[p + 1 + shift]) % 2**32)
                   for p in range(0, len(words), 2)) % 2**64

    return total(0), total(4)


def reduced(basis):
    """A basis of the same lattice with short vectors (Lenstra, Lenstra and Lovasz)."""
    basis = [list(row) for row in basis]

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b))

    def orthogonal():
        stars, shares = [], []
        for row in basis:
            star, share = [Fraction(x) for x in row], []
            for other in stars:
                share.append(dot(row, other) / dot(other, other))
                star = [x - share[-1] * y for x, y in zip(star, other)]
            stars.append(star)
            shares.append(share)
        return [dot(star, star) for star in stars], shares

    norms, shares = orthogonal()
    k = 1
    while k < len(basis):
        for j in reversed(range(k)):
            if q := round(shares[k][j]):
                basis[k] = [x - q * y for x, y in zip(basis[k], basis[j])]
                for i in range(j):
                    shares[k][i] -= q * shares[j][i]
                shares[k][j] -= q
        if norms[k] >= (Fraction(3, 4) - shares[k][k - 1]**2) * norms[k - 1]:
            k += 1
        else:
            basis[k - 1], basis[k] = basis[k], basis[k - 1]
            norms, shares = orthogonal()
            k = max(k - 1, 1)
    return basis


def collision(tile, pairs=12):
    """Another tile with the same leaf hash. Adding d to the first word of a pair adds d times its second word, key
    added, to each sum: so a few small numbers d that are orthogonal to both rows of second words."""
    keys, words = leaf_keys(), list(struct.unpack(f"<{len(tile) // 4}I", tile))
    margin = 2**20
    free = [p for p in range(0, len(words), 2)
            if all(margin <= (words[p] + keys[p + shift]) % 2**32 < 2**32 - margin for shift in (0, 4))][:pairs]
    seconds = [[(words[p + 1] + keys[p + 1 + shift]) % 2**32 for p in free] for shift in (0, 4)]
    lattice = [[int(i == j) for j in range(pairs)] + [2**40 * seconds[0][i], 2**40 * seconds[1][i]]
               for i in range(pairs)]
    short = next(row for row in reduced(lattice) if row[pairs:] == [0, 0])
    scale = margin // (max(map(abs, short)) + 1)  # any multiple does, so the largest
    for p, d in zip(free, short):
        words[p] += scale * d
    forged = struct.pack(f"<{len(words)}I", *words)
    assert forged != tile and leaf_hash(forged, keys) == leaf_hash(tile, keys)
    return forged


def npz_members(archive):
    """[(name, bytes)] of an archive that lockstep wrote."""
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        return [(one.filename, file.read(one)) for one in file.infolist()]


def npz(members):
    """An archive of these, in the form of lockstep's (data/npz.cpp): stored, of one time, sizes behind the bytes."""
    def facts(crc, size, name):
        return struct.pack("<5H3I2H", 20, 8, 0, 0, 33, crc, size, size, len(name), 0)

    out, entries = b"", b""
    for name, data in members:
        name, crc = name.encode(), zlib.crc32(data)
        entries += struct.pack("<IH", 0x02014b50, 20) + facts(crc, len(data), name) + struct.pack("<3H2I", 0, 0, 0, 0, len(out)) + name
        out += struct.pack("<I", 0x04034b50) + facts(0, 0, name) + name + data + struct.pack("<4I", 0x08074b50, crc, len(data), len(data))
    return out + entries + struct.pack("<I4H2IH", 0x06054b50, 0, 0, len(members), len(members), len(entries), len(out), 0)
