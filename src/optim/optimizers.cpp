// The table of the optimisers: one row a kind.
#include "lockstep/optim/adamw.h"
#include "lockstep/optim/lion.h"
#include "lockstep/optim/sgd.h"
#include "optim/kinds.h"

namespace lockstep::optim {

std::span<const OptimizerKind> optimizers() {
  static constexpr OptimizerKind kRows[] = {
      {"adamw", "weight decay is decoupled, times lr", &OptionsOf<AdamWOptions>::make, &make_adamw,
       /*by_rate=*/true},
      {"sgd", "with momentum; weight decay is added to the gradient", &OptionsOf<SgdOptions>::make,
       &make_sgd, /*by_rate=*/false},
      {"lion", "the sign of a moment; weight decay is decoupled, times lr",
       &OptionsOf<LionOptions>::make, &make_lion, /*by_rate=*/true},
  };
  return kRows;
}

}  // namespace lockstep::optim
