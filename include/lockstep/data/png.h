// PNG pictures: 8-bit grey or RGB.
//
// What is written is canonical: signature, IHDR, one tEXt chunk a provenance pair, one IDAT of
// stored (uncompressed) deflate blocks of 65535 bytes with filter 0 in every row, IEND. No
// encoder's choices are left, so the bytes are the same with every version of zlib and libpng.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/bytes.h"

namespace lockstep::data {

struct Picture {
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t channels = 1;         // 1 grey, 3 RGB
  std::vector<std::uint8_t> pixels;  // [height][width][channels]

  bool operator==(const Picture&) const = default;
};

using Provenance = std::vector<std::pair<std::string, std::string>>;  // key, value: printable ASCII
// The value of a key, "" if there is none.
std::string value_of(const Provenance& texts, const std::string& key);

inline constexpr std::int64_t kMaxPictureSide =
    65535;  // pixels; larger is refused, read or written
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;  // bytes; as many are refused

// LOCKSTEP_ASSERTs a consistent picture (sides 1..kMaxPictureSide, fewer than kMostPixels bytes),
// keys of 1..79 characters. Bits: the arguments.
Bytes write_png(const Picture& picture, const Provenance& provenance);

// Decodes by libpng any 8-bit grey or RGB PNG, ours or not. `name` (a path) stands in the error's
// line. Throws Error(kData) for anything else: alpha, palette, 16 bits, damage, sides beyond the
// limit.
Picture read_png(ByteView png, const std::string& name);

struct PngFault {
  std::string chunk;         // "signature", "IHDR", "IDAT", … or "end of file"
  std::uint64_t offset = 0;  // of that chunk in the file, in bytes
  std::string what;          // one line
};

// What differs from the one form that write_png gives a picture and its provenance: no fault means
// that these are exactly its bytes. Other PNGs, undamaged ones too, have a fault.
std::optional<PngFault> check_png(ByteView png);

// The tEXt pairs of a file of ours, in order. Throws Error(kCorrupt) naming the fault otherwise.
Provenance read_provenance(ByteView png);

struct PngChunk {
  std::string type;  // "gAMA"; a byte that is no letter is '?'. "behind IEND": what stands there
  ByteView data;     // of the given bytes
};

// Of any PNG, ours or not, in order. `name` as in read_png. Throws Error(kData) for what is none,
// or a wrong CRC.
std::vector<PngChunk> png_chunks(ByteView png, const std::string& name);

}  // namespace lockstep::data
