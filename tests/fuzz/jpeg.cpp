// JPEG, as `lockstep pack` reads the pictures of others, with Exif's orientation.
#include "fuzz/target.h"
#include "lockstep/data/decode.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  data::Picture picture;
  if (fuzz::accepts({Code::kData}, [&] { picture = data::decode_jpeg(fuzz::view(data, size)); })) {
    FUZZ_REQUIRE(picture.channels == 1 || picture.channels == 3);
    FUZZ_REQUIRE(std::ssize(picture.pixels) == picture.width * picture.height * picture.channels);
    FUZZ_REQUIRE(data::decode_jpeg(fuzz::view(data, size)) == picture);
  }
  return 0;
}
