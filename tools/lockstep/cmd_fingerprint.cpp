#include <iostream>

#include "command.h"
#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::cli {

Run add_fingerprint(CLI::App& app) {
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "report as JSON");
  app.footer("Example: lockstep fingerprint --json\nself_test must be the same on every machine.");
  return [json] {
    const fingerprint::Fingerprint facts = fingerprint::take();
    if (*json) {
      std::cout << fingerprint::to_json(facts) << "\n";
      return Code::kOk;
    }
    for (const auto& [name, value] : facts)
      std::cout << name << std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') << value
                << "\n";
    return Code::kOk;
  };
}

}  // namespace lockstep::cli
