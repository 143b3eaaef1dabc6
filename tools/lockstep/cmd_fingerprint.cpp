#include "command.h"
#include "device.h"
#include "environment.h"
#include "given_recipe.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/train/numerics.h"
#include "output.h"

namespace lockstep::cli {

Run add_fingerprint(Command& command) {
  const auto json = std::make_shared<bool>(false);
  const auto recipe = std::make_shared<std::string>();
  const auto machine = std::make_shared<Machine>(Machine{.threads = 1});
  command.add_flag("--json", *json, "report as JSON: a report that `lockstep check` reads");
  command.add_option("--recipe", *recipe, "native products are tried in its precision")
      .value("FILE");
  add_device(command, machine->device);
  command.footer(
      "Example: lockstep fingerprint --json > node-7.json\nself_test and portable.* must be the "
      "same on every machine; native.* are hashes of LibTorch's kernels here.");
  return [json, recipe, machine] {
    const auto precision =
        recipe->empty() ? ops::Precision::kFloat32 : train::precision_of(given_recipe(*recipe));
    const auto computing = ComputingScope::of_task(*machine);
    const fingerprint::Fingerprint facts =
        fingerprint::take(fingerprint::Kernels::kBoth, precision);
    if (*json) {
      print_json(facts);
      return Code::kOk;
    }
    for (const auto& [name, value] : facts) print_line(left(name, 27), " ", value);
    return Code::kOk;
  };
}

}  // namespace lockstep::cli
