#include <zlib.h>

#include <algorithm>
#include <set>

#include "lockstep/core/error.h"
#include "lockstep/data/png.h"
#include "png_format.h"

namespace lockstep::data {
namespace {

// Thrown inside this file only: the walk stops at the first fault.
struct PngDamage {
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

  [[noreturn]] void fault(const std::string& what) const { throw PngDamage{{type, offset, what}}; }
};

Chunk next_chunk(ByteView png, std::uint64_t offset) {
  if (png.size() - offset < png::kChunkOverhead) {
    throw PngDamage{{"end of file", offset, "the file ends inside a chunk or without IEND"}};
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

struct Header {
  std::uint64_t row = 0, height = 0;  // bytes of a row with its filter's number, rows
};

Header header_of(const Chunk& ihdr) {
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
  return {1 + width * (at(9) == png::kGrey ? 1 : 3), height};
}

std::string_view text_of(const Chunk& chunk) {
  return {reinterpret_cast<const char*>(chunk.data.data()), chunk.data.size()};
}

void check_text(const Chunk& chunk) {
  const std::string_view text = text_of(chunk);
  const std::size_t split = text.find('\0');
  if (split == std::string_view::npos || !png::is_key(text.substr(0, split)) ||
      !png::printable(text.substr(split + 1)))
    chunk.fault("not a key and a text of printable characters");
}

// The rows in one zlib stream of stored blocks, as write_png makes it.
void check_pixels(const Chunk& idat, const Header& header) {
  const std::uint64_t total = header.row * header.height;
  const std::uint64_t blocks = (total + png::kStoredBlock - 1) / png::kStoredBlock;
  if (idat.data.size() != png::kZlibHeader.size() + 5 * blocks + total + 4)
    idat.fault("not as many bytes as lockstep writes for a picture of this size");
  ByteView rest = idat.data;
  const auto take = [&](std::size_t n) {
    const ByteView front = rest.first(n);
    rest = rest.subspan(n);
    return front;
  };
  const auto starts_with = [&](std::span<const std::uint8_t> bytes) {
    return std::ranges::equal(take(bytes.size()), std::as_bytes(bytes));
  };
  if (!starts_with(png::kZlibHeader)) idat.fault("not the zlib stream that lockstep writes");
  uLong adler = adler32(0, nullptr, 0);
  for (std::uint64_t at = 0; at < total;) {
    const std::size_t n = std::min<std::uint64_t>(png::kStoredBlock, total - at);
    if (!starts_with(png::block_header(n, at + n == total)))
      idat.fault("not the stored blocks that lockstep writes");
    const ByteView block = take(n);
    // Filters' numbers: the first of this block, then one a row.
    for (std::uint64_t i = (header.row - at % header.row) % header.row; i < n; i += header.row)
      if (block[i] != std::byte{0}) idat.fault("a row has a filter: lockstep uses none");
    adler = adler32(adler, reinterpret_cast<const Bytef*>(block.data()), static_cast<uInt>(n));
    at += n;
  }
  if (adler != get_u32_be(rest)) idat.fault("wrong Adler-32");
}

// Every chunk in order, the first and the last too; throws PngDamage. Returns where the next byte
// is.
template <class Visit>
std::uint64_t walk(ByteView png, Visit&& visit) {
  const ByteView signature = std::as_bytes(std::span(png::kSignature));
  if (png.size() < signature.size() ||
      !std::equal(signature.begin(), signature.end(), png.begin())) {
    throw PngDamage{{"signature", 0, "not a PNG file"}};
  }
  std::uint64_t offset = signature.size();
  while (true) {
    const Chunk chunk = next_chunk(png, offset);
    visit(chunk);
    offset += chunk.data.size() + png::kChunkOverhead;
    if (chunk.type == "IEND") return offset;
  }
}

std::string line_of(const PngFault& fault) {
  return "PNG damaged at byte " + std::to_string(fault.offset) + " (" + fault.chunk +
         "): " + fault.what;
}

}  // namespace

std::optional<PngFault> check_png(ByteView png) {
  try {
    std::optional<Header> header;
    bool had_pixels = false;
    std::set<std::string_view> keys;
    const std::uint64_t end = walk(png, [&](const Chunk& chunk) {
      if (!header) {
        header = header_of(chunk);
      } else if (chunk.type == "IEND") {
        if (!had_pixels) chunk.fault("there is no IDAT before it");
        if (!chunk.data.empty()) chunk.fault("not empty");
      } else if (had_pixels) {
        chunk.fault("lockstep writes nothing between IDAT and IEND");
      } else if (chunk.type == png::kText) {
        check_text(chunk);
        const std::string_view text = text_of(chunk);
        if (!keys.insert(text.substr(0, text.find('\0'))).second)
          chunk.fault("lockstep writes no key twice");
      } else if (chunk.type == "IDAT") {
        check_pixels(chunk, *header);
        had_pixels = true;
      } else {
        chunk.fault("lockstep writes no such chunk");
      }
    });
    if (end != png.size()) throw PngDamage{{"end of file", end, "bytes after IEND"}};
  } catch (const PngDamage& damage) {
    return damage.fault;
  }
  return std::nullopt;
}

Provenance read_provenance(ByteView png) {
  if (const auto fault = check_png(png)) throw Error(Code::kCorrupt, line_of(*fault));
  Provenance pairs;
  walk(png, [&](const Chunk& chunk) {
    if (chunk.type != png::kText) return;
    const std::string_view text = text_of(chunk);
    const std::size_t split = text.find('\0');
    pairs.emplace_back(text.substr(0, split), text.substr(split + 1));
  });
  return pairs;
}

std::string value_of(const Provenance& texts, const std::string& key) {
  const auto found = std::ranges::find(texts, key, &Provenance::value_type::first);
  return found == texts.end() ? std::string() : found->second;
}

std::vector<PngChunk> png_chunks(ByteView png, const std::string& name) {
  std::vector<PngChunk> chunks;
  try {
    const std::uint64_t end = walk(png, [&](const Chunk& chunk) {
      chunks.push_back({chunk.type, chunk.data});
    });
    if (end != png.size()) chunks.push_back({"behind IEND", png.subspan(end)});
  } catch (const PngDamage& damage) {
    throw Error(Code::kData, name + ": " + line_of(damage.fault));
  }
  return chunks;
}

}  // namespace lockstep::data
