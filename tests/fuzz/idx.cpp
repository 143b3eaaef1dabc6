// IDX files, plain or gzip. What is accepted holds as many pixels as its sizes say, and a plain
// file holds nothing else.
#include "lockstep/data/idx.h"

#include "fuzz/target.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file(".idx");
  file.write(fuzz::text(data, size));
  std::unique_ptr<data::Images> images;
  if (!fuzz::accepts({Code::kData}, [&] { images = data::read_idx(file.path()); })) return 0;
  const data::ImageShape& shape = images->shape();
  const auto& pixels = images->pixels();
  FUZZ_REQUIRE(pixels.size() == data::checked_image_bytes(static_cast<std::uint64_t>(shape.n),
                                                          static_cast<std::uint64_t>(shape.h),
                                                          static_cast<std::uint64_t>(shape.w),
                                                          static_cast<std::uint64_t>(shape.c)));
  if (data[0] == 0x1f) return 0;
  FUZZ_REQUIRE(size == pixels.size() + 4 + 4 * static_cast<std::size_t>(data[3]));
  FUZZ_REQUIRE(std::equal(pixels.begin(), pixels.end(), data + (size - pixels.size())));
  return 0;
}
