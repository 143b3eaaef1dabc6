// .npy and .npz of other programs, as `lockstep pack` reads them: the first byte says whether the
// rest is the source itself or the labels beside one.
#include "fuzz/target.h"
#include "lockstep/data/sources.h"

using namespace lockstep;

namespace {

// Two pictures of 1x1.
std::string two_pictures() {
  const std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 1, 1), }\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + "ab";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const fuzz::InputFile source(".npy"), labels("-labels.npy");
  const bool labels_are_tried = data[0] % 2 == 1;
  const std::string rest = fuzz::text(data + 1, size - 1);
  source.write(labels_are_tried ? two_pictures() : rest);
  if (labels_are_tried)
    labels.write(rest);
  else
    std::filesystem::remove(labels.path());
  data::Source read;
  if (fuzz::accepts({Code::kData}, [&] { read = data::read_source(source.path(), {}); })) {
    const data::Images& images = *read.all.images;
    FUZZ_REQUIRE(std::ssize(images.pixels()) == images.shape().n * images.shape().image_bytes());
    FUZZ_REQUIRE(read.all.labels.empty() || std::ssize(read.all.labels) == images.size());
  }
  return 0;
}
