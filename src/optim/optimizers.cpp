// The table of the optimisers: one row a kind.
#include "lockstep/optim/adamw.h"
#include "lockstep/optim/lion.h"
#include "lockstep/optim/sgd.h"
#include "optim/kinds.h"

namespace lockstep::optim {

std::span<const OptimizerKind> optimizers() {
  static constexpr OptimizerKind kRows[] = {
      {"adamw", "weight decay is decoupled, times lr", &OptionsOf<AdamWOptions>::make, &make_adamw,
       /*too_large_lr=*/0.1, "1e-4 to 1e-2"},
      {"sgd", "with momentum; weight decay is added to the gradient", &OptionsOf<SgdOptions>::make,
       &make_sgd, /*too_large_lr=*/0, ""},
      {"lion", "the sign of a moment; weight decay is decoupled, times lr",
       &OptionsOf<LionOptions>::make, &make_lion, /*too_large_lr=*/0.01, "3e-5 to 3e-4"},
  };
  return kRows;
}

}  // namespace lockstep::optim
