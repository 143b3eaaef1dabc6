// PNG: the readers of plain pictures and of all, and the strict checker of ours. Each input is also
// tried with its CRCs put right, as somebody who knows the format would.
#include "lockstep/data/png.h"

#include <zlib.h>

#include <algorithm>

#include "fuzz/target.h"
#include "lockstep/data/decode.h"

using namespace lockstep;

namespace {

void try_it(ByteView png) {
  data::Picture picture;
  if (fuzz::accepts({Code::kData}, [&] { picture = data::read_png(png, "a.png"); })) {
    const Bytes again = data::write_png(picture, {});
    FUZZ_REQUIRE(!data::check_png(again));
    FUZZ_REQUIRE(data::read_png(again, "again.png") == picture);
  }
  data::Picture decoded;
  if (fuzz::accepts({Code::kData}, [&] { decoded = data::decode_picture(png); })) {
    FUZZ_REQUIRE(picture.pixels.empty() || decoded == picture);
    FUZZ_REQUIRE(std::ssize(decoded.pixels) == decoded.width * decoded.height * decoded.channels);
  }
  if (const auto fault = data::check_png(png)) {
    FUZZ_REQUIRE(fault->offset <= png.size() && !fault->chunk.empty() && !fault->what.empty());
    FUZZ_REQUIRE(!fuzz::accepts({Code::kCorrupt}, [&] { data::read_provenance(png); }));
  } else {
    const Bytes same = data::write_png(data::read_png(png, "a.png"), data::read_provenance(png));
    FUZZ_REQUIRE(std::ranges::equal(same, png));
  }
  fuzz::accepts({Code::kData}, [&] { data::png_chunks(png, "a.png"); });
}

// Every whole chunk gets its CRC.
Bytes with_right_crcs(ByteView png) {
  Bytes out(png.begin(), png.end());
  for (std::size_t at = 8; out.size() >= at + 12;) {
    const auto* bytes = reinterpret_cast<const Bytef*>(out.data()) + at;
    const std::size_t length = static_cast<std::size_t>(bytes[0]) << 24 | bytes[1] << 16 |
                               bytes[2] << 8 | static_cast<std::size_t>(bytes[3]);
    if (length > out.size() - at - 12) break;
    const auto crc = crc32(0, bytes + 4, static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      out[at + 8 + length + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
    at += length + 12;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try_it(fuzz::view(data, size));
  try_it(with_right_crcs(fuzz::view(data, size)));
  return 0;
}
