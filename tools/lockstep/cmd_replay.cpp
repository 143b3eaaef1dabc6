#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/core/log.h"
#include "lockstep/train/replay.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string folder;
  std::int64_t from = 1, to = 0;
  std::string data;
  int threads = 0;
  bool quiet = false, json = false;
};

void print_json(const train::ReplayResult& result) {
  nlohmann::ordered_json out = {{"agrees", !result.differs},
                                {"started", result.started.value},
                                {"from", result.from.value},
                                {"to", result.to.value}};
  if (result.differs) {
    out["first_difference"] = result.differs->value;
    out["what"] = result.what;
  }
  std::cout << out.dump() << "\n";
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  train::ReplayOptions replay{.folder = options.folder,
                              .from = Step(options.from),
                              .to = {},
                              .data = {},
                              .threads = threads_to_use(options.threads)};
  if (options.to > 0) replay.to = Step(options.to);
  if (!options.data.empty()) replay.data = options.data;
  const train::ReplayResult result = train::replay(replay);
  if (options.json) {
    print_json(result);
  } else if (result.differs) {
    std::cout << "FAIL: step " << result.differs->value << ": its " << result.what
              << " is not what the ledger says\n";
  } else {
    std::cout << "PASS: steps " << result.from.value << " to " << result.to.value
              << " recomputed from step " << result.started.value
              << ": every digest is the ledger's\n";
  }
  return result.differs ? Code::kDiffer : Code::kOk;
}

}  // namespace

Run add_replay(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("run", options->folder, "run folder; nothing is written to it")->required();
  app.add_option("--from", options->from, "first step to compare");
  app.add_option("--to", options->to, "last step to compare, 0: the ledger's end");
  app.add_option("--data", options->data, "where the data set lies, if not where the recipe says");
  add_threads(app, options->threads);
  app.add_flag("--quiet", options->quiet, "warnings and errors only");
  app.add_flag("--json", options->json, "report as JSON");
  app.footer(
      "Example: lockstep replay runs/fashion-mnist-ddpm --from 301 --to 310\n"
      "Starts from the nearest checkpoint before the window. Exit codes: 0 PASS, 1 FAIL.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
