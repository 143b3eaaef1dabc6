#include "dry_run.h"

#include "lockstep/core/text.h"
#include "lockstep/data/dataset.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/warnings.h"
#include "lockstep/train/training.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Size {
  std::int64_t parameters = 0;
  std::int64_t state_bytes = 0;
  double step_flops = 0;
};

// A step costs one forward and two backward products a network and phase; good to a few tens of
// percent.
Size size_of(const recipe::Recipe& recipe) {
  const train::Training training =
      train::make_training(recipe, data::open(recipe.data)->sample_shape(), {.world = 1});
  Size size{.parameters = 0, .state_bytes = training.state.bytes(), .step_flops = 0};
  for (const train::Trained& one : training.trained) {
    for (const at::Tensor& parameter : one.parameters) size.parameters += parameter.numel();
    size.step_flops +=
        3 * one.network->forward_flops() * static_cast<double>(training.plan.batch());
  }
  return size;
}

}  // namespace

void dry_run(const recipe::Recipe& recipe, bool json) {
  const Size size = size_of(recipe);
  const std::string id = recipe::id(recipe).hex();
  const std::vector<std::string> warnings = recipe::warnings(recipe);
  if (json) {
    print_json({{"id", id},
                {"recipe", recipe::canonical(recipe)},
                {"parameters", size.parameters},
                {"state_bytes", size.state_bytes},
                {"flops_per_step", size.step_flops},
                {"warnings", warnings}});
    return;
  }
  print_lines(recipe::canonical(recipe));
  print_line("");
  print_line("# recipe id   ", id);
  print_line("# parameters  ", size.parameters);
  print_line("# state       ", human_bytes(static_cast<double>(size.state_bytes)),
             " in memory, the same in each checkpoint");
  print_line("# compute     about ", fixed(size.step_flops / 1e9, 2), " GFLOP a step");
  for (const std::string& line : warnings) print_line("# warning     ", line);
}

}  // namespace lockstep::cli
