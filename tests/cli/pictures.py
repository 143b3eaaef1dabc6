"""Files of pictures as others write them, made by hand: PNG in every form."""

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


def samples(count, seed, most=255):
    """That many different-looking numbers."""
    return [(i * 2654435761 + seed * 40503) % 4294967296 * (most + 1) >> 32 for i in range(count)]
