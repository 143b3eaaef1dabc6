// The table of the optimisers: one row a kind.
#include "lockstep/optim/adamw.h"
#include "lockstep/optim/lion.h"
#include "lockstep/optim/sgd.h"
#include "optim/kinds.h"

namespace lockstep::optim {

std::span<const OptimizerKind> optimizers() {
  static constexpr OptimizerKind kRows[] = {
      {"adamw", "weight decay is decoupled, times lr", &OptionsOf<AdamWOptions>::make, &make_adamw,
       /*scale_invariant=*/true},
      {"sgd", "with momentum; weight decay is added to the gradient", &OptionsOf<SgdOptions>::make,
       &make_sgd, /*scale_invariant=*/false},
      {"lion", "the sign of a moment; weight decay is decoupled, times lr",
       &OptionsOf<LionOptions>::make, &make_lion, /*scale_invariant=*/true},
  };
  return kRows;
}

}  // namespace lockstep::optim
