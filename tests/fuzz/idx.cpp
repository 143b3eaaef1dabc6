// IDX files of images or labels, plain or gzip. What is accepted holds as many values as its sizes
// say, and a plain file holds nothing else.
#include "lockstep/data/idx.h"

#include "fuzz/target.h"

using namespace lockstep;

namespace {

// Labels as many as the header says, so that more is looked at than their number.
void labels(const fuzz::InputFile& file, const std::uint8_t* data, std::size_t size) {
  std::int64_t stated = 3;
  if (size >= 8 && data[0] != 0x1f) {
    stated = 0;
    for (std::size_t i = 4; i < 8; ++i) stated = stated << 8 | data[i];
  }
  data::Labels labels;
  if (!fuzz::accepts({Code::kData}, [&] { labels = data::read_idx_labels(file.path(), stated); }))
    return;
  FUZZ_REQUIRE(labels.size() == static_cast<std::size_t>(stated));
  if (data[0] == 0x1f) return;
  FUZZ_REQUIRE(size == labels.size() + 8);
  FUZZ_REQUIRE(std::equal(labels.begin(), labels.end(), data + 8));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file(".idx");
  file.write(fuzz::text(data, size));
  labels(file, data, size);
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
