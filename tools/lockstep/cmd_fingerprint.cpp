#include <iostream>

#include "command.h"
#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::cli {

Run add_fingerprint(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "report as JSON: a report that `lockstep check` reads");
  app.footer(
      "Example: lockstep fingerprint --json > node-7.json\nself_test and portable.* must be the "
      "same on every machine; native.* are hashes of LibTorch's kernels here.");
  return [json] {
    const fingerprint::Fingerprint facts = fingerprint::take(fingerprint::Kernels::kBoth);
    if (*json) {
      std::cout << fingerprint::to_json(facts) << "\n";
      return Code::kOk;
    }
    for (const auto& [name, value] : facts)
      std::cout << name << std::string(name.size() < 28 ? 28 - name.size() : 1, ' ') << value
                << "\n";
    return Code::kOk;
  };
}

}  // namespace lockstep::cli
