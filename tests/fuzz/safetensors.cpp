// Weights of other programs, as `lockstep train --weights` reads them.
#include "lockstep/data/safetensors.h"

#include "fuzz/target.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile file(".safetensors");
  file.write(fuzz::text(data, size));
  data::LoadedTensors read;
  if (!fuzz::accepts({Code::kData}, [&] { read = data::read_safetensors(file.path()); })) return 0;
  FUZZ_REQUIRE(read.digest == hash::sha256(fuzz::view(data, size)));
  for (const data::LoadedTensor& one : read.tensors) {
    std::size_t values = 1;
    for (const std::int64_t side : one.shape) values *= static_cast<std::size_t>(side);
    FUZZ_REQUIRE(one.values.size() == values);
  }
  return 0;
}
