// The index of data in shards. What is accepted is what would be written for its contents, byte for
// byte.
#include "lockstep/data/shards.h"

#include "fuzz/target.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text(data, size);
  std::optional<data::ShardsIndex> index;
  if (!fuzz::accepts({Code::kData}, [&] { index = data::parse_shards_index(text); })) return 0;
  FUZZ_REQUIRE(data::format_shards_index(*index) == text);
  FUZZ_REQUIRE(index->pixels.length ==
               static_cast<std::uint64_t>(index->shape.n * index->shape.image_bytes()));
  return 0;
}
