// Packed data files. What is accepted is what would be written for its images, labels and names of
// classes, byte for byte.
#include "lockstep/data/pack.h"

#include "fuzz/target.h"
#include "lockstep/core/file_system.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file(".h5"), again(".again.h5");
  file.write(fuzz::text(data, size));
  data::LabelledImages all;
  if (!fuzz::accepts({Code::kData}, [&] { all = data::read_pack(file.path()); })) return 0;
  FUZZ_REQUIRE(data::is_pack(file.path()));
  data::write_pack(again.path(), *all.images, all.labels, all.classes);
  FUZZ_REQUIRE(fuzz::same(read_file(real_file_system(), again.path()), fuzz::view(data, size)));
  return 0;
}
