// Recipes: TOML by a stranger. What is accepted has one canonical text, and its stored forms read
// back to it.
#include "fuzz/target.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"

using namespace lockstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = fuzz::text(data, size);
  recipe::Recipe recipe;
  if (fuzz::accepts({Code::kUsage}, [&] { recipe = recipe::parse(text, "a.toml"); })) {
    const std::string canonical = recipe::canonical(recipe);
    FUZZ_REQUIRE(recipe::canonical(recipe::parse(canonical, "canonical")) == canonical);
    const std::string bits = recipe::canonical_bits(recipe);
    FUZZ_REQUIRE(recipe::id(recipe::parse_bits(bits, "bits")) == recipe::id(recipe));
    const std::string stored = recipe::run_text(recipe);
    FUZZ_REQUIRE(recipe::run_text(recipe::parse_run_text(stored, "stored")) == stored);
  }
  if (fuzz::accepts({Code::kCorrupt}, [&] { recipe = recipe::parse_bits(text, "bits"); }))
    FUZZ_REQUIRE(recipe::canonical_bits(recipe) == text);
  if (fuzz::accepts({Code::kCorrupt, Code::kCannotCompare},
                    [&] { recipe = recipe::parse_run_text(text, "recipe.toml"); }))
    FUZZ_REQUIRE(recipe::run_text(recipe) == text);
  return 0;
}
