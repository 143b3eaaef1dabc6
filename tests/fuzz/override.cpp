// The text after --set, over the recipe of all defaults.
#include "fuzz/target.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile base(".toml");
  static const bool written = (base.write(""), true);
  FUZZ_REQUIRE(written);
  recipe::Recipe recipe;
  if (!fuzz::accepts({Code::kUsage},
                     [&] { recipe = recipe::load(base.path(), {fuzz::text(data, size)}); }))
    return 0;
  const std::string canonical = recipe::canonical(recipe);
  FUZZ_REQUIRE(recipe::canonical(recipe::parse(canonical, "canonical")) == canonical);
  return 0;
}
