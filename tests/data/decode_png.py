"""Decodes a PNG of filter-0 rows with nothing but the standard library and prints it: width, height,
channels, the pixels in hexadecimal, then each tEXt pair. A decoder that shares no code with ours."""
import struct
import sys
import zlib

data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, idat, texts = 8, b"", []
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at : at + 8])
    body = data[at + 8 : at + 8 + length]
    assert struct.unpack(">I", data[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + body)
    at += 12 + length
    if kind == b"IHDR":
        width, height, depth, colour, method, filters, interlace = struct.unpack(">IIBBBBB", body)
        assert (depth, method, filters, interlace) == (8, 0, 0, 0)
        channels = {0: 1, 2: 3}[colour]
    elif kind == b"IDAT":
        idat += body
    elif kind == b"tEXt":
        texts.append(body.replace(b"\0", b"=", 1).decode("ascii"))
assert kind == b"IEND"
rows = zlib.decompress(idat)
step = 1 + width * channels
assert len(rows) == height * step and not any(rows[::step])
print(width, height, channels)
print(b"".join(rows[y * step + 1 : (y + 1) * step] for y in range(height)).hex())
for text in texts:
    print(text)
