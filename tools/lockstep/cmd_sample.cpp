#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/train/sample.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string source, out = "samples.png";
  std::int64_t first = 0, count = 64, columns = 8;
  int threads = 0;
  bool json = false;
};

Code run(const Options& options) {
  const train::SampleResult result = train::sample({.source = options.source,
                                                    .out = options.out,
                                                    .first = options.first,
                                                    .count = options.count,
                                                    .columns = options.columns,
                                                    .threads = threads_to_use(options.threads)});
  if (options.json) {
    print_json({{"out", options.out}, {"step", result.step.value}, {"sha256", result.sha256}});
  } else {
    print_line(options.out, ": ", options.count, " samples of step ", result.step.value,
               ", sha256 ", result.sha256);
  }
  return Code::kOk;
}

}  // namespace

Run add_sample(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("source", options->source, "run folder (its newest checkpoint) or a checkpoint")
      ->required();
  app.add_option("--out", options->out, "PNG to write");
  app.add_option("--first", options->first,
                 "number of the first sample; a sample is a function of its number, not of count")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
  app.add_option("--count", options->count, "samples")->check(CLI::Range(1, 1 << 20));
  app.add_option("--columns", options->columns, "columns of the grid")
      ->check(CLI::Range(1, 1 << 10));
  add_threads(app, options->threads);
  app.add_flag("--json", options->json, "report as JSON");
  app.footer("Example: lockstep sample runs/fashion-mnist-ddpm --first 64 --out more.png");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
