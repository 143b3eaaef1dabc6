#include "lockstep/train/numerics.h"

#include <algorithm>

namespace lockstep::train {

ops::Precision precision_of(const recipe::Recipe& recipe) {
  return static_cast<ops::Precision>(std::ranges::find(ops::kPrecisions, recipe.run.precision) -
                                     ops::kPrecisions.begin());
}

ops::Numerics numerics_of(const recipe::Recipe& recipe, std::int64_t samples) {
  return {.native = recipe::is_native(recipe),
          .samples = samples,
          .integer = recipe::has_integer_products(recipe),
          .precision = precision_of(recipe)};
}

fingerprint::Fingerprint fingerprint_for(const recipe::Recipe& recipe) {
  using fingerprint::Kernels;
  return fingerprint::take(recipe::is_native(recipe) ? Kernels::kBoth : Kernels::kPortable,
                           precision_of(recipe));
}

}  // namespace lockstep::train
