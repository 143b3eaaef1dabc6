#include <zlib.h>

#include <algorithm>
#include <array>

#include "lockstep/core/error.h"
#include "lockstep/data/png.h"
#include "png_format.h"

namespace lockstep::data {
namespace {

// Thrown inside this file only: the walk stops at the first fault.
struct Found {
  PngFault fault;
};

std::uint32_t get_u32_be(ByteView at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

struct Chunk {
  std::string type;
  std::uint64_t offset = 0;
  ByteView data;

  [[noreturn]] void fault(const std::string& what) const { throw Found{{type, offset, what}}; }
};

// Counts what an IDAT stream inflates to, without holding it.
class Inflater {
 public:
  explicit Inflater(std::uint64_t expected) : expected_(expected) {
    LOCKSTEP_ASSERT(inflateInit(&z_) == Z_OK);
  }
  ~Inflater() { inflateEnd(&z_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void feed(const Chunk& idat) {
    // zlib's interface lacks a const; it does not write to its input.
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(idat.data.data()));
    z_.avail_in = static_cast<uInt>(idat.data.size());
    while (z_.avail_in > 0) {
      if (ended_) idat.fault("bytes behind the end of the compressed stream");
      std::array<Bytef, 1 << 14> scratch;
      z_.next_out = scratch.data();
      z_.avail_out = scratch.size();
      const int result = inflate(&z_, Z_NO_FLUSH);
      total_ += scratch.size() - z_.avail_out;
      if (total_ > expected_) idat.fault("more pixels than the header says");
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result != Z_OK) {
        idat.fault(std::string("damaged compressed stream") +
                   (z_.msg ? std::string(": ") + z_.msg : ""));
      }
    }
  }

  void finish(const Chunk& iend) const {
    if (!ended_) iend.fault("the compressed stream of IDAT is not complete");
    if (total_ != expected_) iend.fault("fewer pixels than the header says");
  }

 private:
  z_stream z_{};
  std::uint64_t expected_;
  std::uint64_t total_ = 0;
  bool ended_ = false;
};

Chunk next_chunk(ByteView png, std::uint64_t offset) {
  if (png.size() - offset < png::kChunkOverhead) {
    throw Found{{"end of file", offset, "the file ends inside a chunk or without IEND"}};
  }
  const std::uint64_t length = get_u32_be(png.subspan(offset, 4));
  const ByteView type = png.subspan(offset + 4, 4);
  Chunk chunk;
  chunk.offset = offset;
  for (const std::byte b : type) {  // for people: letters as they are, anything else as '?'
    const char c = static_cast<char>(b);
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    chunk.type += letter ? c : '?';
  }
  if (length > png.size() - offset - png::kChunkOverhead) {
    chunk.fault("a length of " + std::to_string(length) + " bytes reaches beyond the file");
  }
  chunk.data = png.subspan(offset + 8, length);
  const auto crc =
      crc32(0, reinterpret_cast<const Bytef*>(type.data()), static_cast<uInt>(length + 4));
  if (crc != get_u32_be(png.subspan(offset + 8 + length, 4))) chunk.fault("wrong CRC");
  return chunk;
}

// The bytes that IDAT must inflate to: every row has a filter byte in front.
std::uint64_t inflated_size(const Chunk& ihdr) {
  if (ihdr.type != "IHDR") ihdr.fault("the first chunk is not IHDR");
  if (ihdr.data.size() != 13) ihdr.fault("wrong length");
  const std::uint64_t width = get_u32_be(ihdr.data), height = get_u32_be(ihdr.data.subspan(4));
  if (width < 1 || width > kMaxPictureSide || height < 1 || height > kMaxPictureSide) {
    ihdr.fault("sides of " + std::to_string(width) + "x" + std::to_string(height) + " pixels");
  }
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(ihdr.data[i]); };
  if (at(8) != 8 || (at(9) != png::kGrey && at(9) != png::kRgb))
    ihdr.fault("not 8-bit grey or RGB");
  if (at(10) != 0 || at(11) != 0 || at(12) != 0) ihdr.fault("unknown method, or interlaced");
  return height * (1 + width * (at(9) == png::kGrey ? 1 : 3));
}

// Every chunk in order, the first and the last too; throws Found.
template <class Visit>
void walk(ByteView png, Visit&& visit) {
  const ByteView signature = std::as_bytes(std::span(png::kSignature));
  if (png.size() < signature.size() ||
      !std::equal(signature.begin(), signature.end(), png.begin())) {
    throw Found{{"signature", 0, "not a PNG file"}};
  }
  std::uint64_t offset = signature.size();
  while (true) {
    const Chunk chunk = next_chunk(png, offset);
    visit(chunk);
    offset += chunk.data.size() + png::kChunkOverhead;
    if (chunk.type != "IEND") continue;
    if (!chunk.data.empty()) chunk.fault("not empty");
    if (offset != png.size()) throw Found{{"end of file", offset, "bytes behind IEND"}};
    return;
  }
}

}  // namespace

std::optional<PngFault> check_png(ByteView png) {
  try {
    std::optional<Inflater> inflater;
    bool in_idat = false, had_idat = false;  // IDAT chunks stand in one row
    walk(png, [&](const Chunk& chunk) {
      if (!inflater) {
        inflater.emplace(inflated_size(chunk));
      } else if (chunk.type == "IHDR") {
        chunk.fault("a second header");
      } else if (chunk.type == "IDAT") {
        if (had_idat && !in_idat) chunk.fault("IDAT chunks are not consecutive");
        inflater->feed(chunk);
      } else if (chunk.type == "IEND") {
        inflater->finish(chunk);
      }
      in_idat = chunk.type == "IDAT";
      had_idat = had_idat || in_idat;
    });
  } catch (const Found& found) {
    return found.fault;
  }
  return std::nullopt;
}

Provenance read_provenance(ByteView png) {
  if (const auto fault = check_png(png)) {
    throw Error(Code::kCorrupt, "PNG damaged at byte " + std::to_string(fault->offset) + " (" +
                                    fault->chunk + "): " + fault->what);
  }
  Provenance pairs;
  walk(png, [&](const Chunk& chunk) {
    if (chunk.type != png::kText) return;
    const std::string_view text(reinterpret_cast<const char*>(chunk.data.data()),
                                chunk.data.size());
    const std::size_t split = std::min(text.find('\0'), text.size());
    pairs.emplace_back(text.substr(0, split),
                       split < text.size() ? text.substr(split + 1) : std::string_view());
  });
  return pairs;
}

}  // namespace lockstep::data
