"""Files of pictures as others write them, made by hand: PNG in every form, JPEG of even blocks."""

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # samples of a pixel by the colour type


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width, height, samples, colour=2, bits=8, interlace=0, extra=()):
    """samples: row by row, as whole numbers below 2**bits; extra: chunks before the pixels."""
    a_row = width * CHANNELS[colour]
    raw = b""
    for y in range(height):
        row = samples[y * a_row:(y + 1) * a_row]
        if bits == 16:
            raw += b"\0" + struct.pack(f">{a_row}H", *row)
        else:
            text = "".join(f"{v:0{bits}b}" for v in row)
            text += "0" * (-len(text) % 8)
            raw += b"\0" + bytes(int(text[i:i + 8], 2) for i in range(0, len(text), 8))
    header = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlace)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunk(*one) for one in extra) +
            chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def jpeg(blocks, adobe=None, exif=b""):
    """Baseline JPEG of 8x8 blocks of one value each, [rows][columns][components]: so every decoder gives these values."""
    def segment(marker, body):
        return struct.pack(">BBH", 0xff, marker, len(body) + 2) + body

    rows, columns, count = len(blocks), len(blocks[0]), len(blocks[0][0])
    bits, before = "", [0] * count
    for block in (block for row in blocks for block in row):
        for c, value in enumerate(block):
            # A step of the quantised mean is 8 / 8 = 1. Categories 0 to 11 have the codes 0000 to 1011.
            difference, before[c] = value - 128 - before[c], value - 128
            size = abs(difference).bit_length()
            bits += f"{size:04b}" + (f"{difference if difference > 0 else difference + 2**size - 1:0{size}b}" if size else "")
            bits += "0"  # the block ends
    bits += "1" * (-len(bits) % 8)
    scan = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8)).replace(b"\xff", b"\xff\0")
    frame = struct.pack(">BHHB", 8, 8 * rows, 8 * columns, count) + b"".join(bytes([c + 1, 0x11, 0]) for c in range(count))
    return (b"\xff\xd8" + (segment(0xe1, exif) if exif else b"") +
            (b"" if adobe is None else segment(0xee, b"Adobe\0\x64\0\0\0\0" + bytes([adobe]))) +
            segment(0xdb, b"\0" + b"\x08" * 64) + segment(0xc0, frame) +
            segment(0xc4, b"\0" + bytes([0, 0, 0, 12] + [0] * 12) + bytes(range(12))) +
            segment(0xc4, b"\x10" + bytes([1] + [0] * 15) + b"\0") +
            segment(0xda, bytes([count]) + b"".join(bytes([c + 1, 0]) for c in range(count)) + b"\0\x3f\0") + scan + b"\xff\xd9")


def exif(orientation):
    """An APP1 that says how the camera was held."""
    return b"Exif\0\0MM\0\x2a\0\0\0\x08\0\1" + struct.pack(">HHIHHI", 0x112, 3, 1, orientation, 0, 0)


def samples(count, seed, most=255):
    """That many different-looking numbers."""
    return [(i * 2654435761 + seed * 40503) % 4294967296 * (most + 1) >> 32 for i in range(count)]
