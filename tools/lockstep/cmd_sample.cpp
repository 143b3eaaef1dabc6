#include <functional>
#include <optional>

#include "command.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/core/text.h"
#include "lockstep/data/grid.h"
#include "lockstep/train/sample.h"
#include "lockstep/train/signals.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  train::SampleOptions sample{.source = {}, .out = "samples.png"};
  std::string source, guidance;
  Machine machine;
  bool quiet = false, json = false;
};

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  require_no_other_than_run(options.source);
  train::SampleOptions sample = options.sample;
  sample.source = options.source;
  sample.guidance = parse_double(options.guidance);
  const auto computing = ComputingScope::of_task(options.machine);
  train::catch_stop_signals();       // nothing unfinished is left behind
  std::optional<Progress> progress;  // ends before the result is printed
  sample.progress = std::ref(progress.emplace("samples are made"));
  const train::SampleResult result = train::sample(sample);
  progress.reset();
  const bool folder = result.sha256.empty();
  if (options.json) {
    Json out = {{"out", sample.out}, {"step", result.step.value}};
    if (folder)
      out["files"] = sample.count;
    else
      out["sha256"] = result.sha256;
    print_json(out);
  } else {
    print_line(sample.out, ": ", counted(sample.count, "sample"), " of step ", result.step.value,
               folder ? ", " + train::sample_name(sample.first) + " to " +
                            train::sample_name(sample.first + sample.count - 1)
                      : ", sha256 " + result.sha256);
  }
  return Code::kOk;
}

}  // namespace

Run add_sample(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option("source", options->source,
                  "a run: RUN (its newest checkpoint) or RUN@STEP; or a checkpoint")
      .required();
  train::SampleOptions& sample = options->sample;
  command
      .add_option("--out", sample.out,
                  "name.png: one picture, a grid; name.npz: a NumPy archive, arr_0 and, with "
                  "classes, arr_1; name/: a folder with a PNG a sample; of signals only .npz")
      .value("NAME");
  command
      .add_option("--first", sample.first,
                  "number of the first sample; a sample depends on its number, not on --count")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  command.add_option("--count", sample.count, "samples").range(1, 1 << 20);
  command
      .add_option("--seed", sample.seed,
                  "seed of the noise, instead of the recipe's run.seed: runs of other seeds can "
                  "get the same noise")
      .range(std::int64_t{0}, INT64_MAX);
  command.add_option("--columns", sample.columns, "columns of the grid [8]")
      .range(1, data::kMostColumns);
  command.add_option("--sampler", sample.sampler, "instead of the recipe's (diffusion models only)")
      .value("NAME");
  command
      .add_option("--sampler-steps", sample.sampler_steps,
                  "of a sampler whose steps can be chosen, instead of the recipe's")
      .range(1, 1 << 20);
  command
      .add_option(
          "--class", sample.label,
          "class of all samples, its number, or, if it is no number, its name in the data; without "
          "it sample i has the class i mod data.classes")
      .value("N|NAME");
  command
      .add_option("--guidance", options->guidance,
                  "scale of classifier-free guidance, instead of the recipe's; 1: none")
      .value("SCALE")
      .check([](const std::string& text) {
        const auto scale = parse_double(text);
        return scale && *scale >= 0.0 && *scale <= 1000.0 ? "" : "give a number from 0 to 1000";
      });
  command
      .add_option("--weights", sample.weights,
                  "average: the moving average, which is taken if the recipe keeps one; or trained")
      .one_of({"average", "trained"});
  command
      .add_option("--average", sample.average,
                  "which average of the weights, where the recipe keeps several [1]: 1 is that of "
                  "ema_decay")
      .range(1, 64);
  add_machine(command, options->machine);
  add_quiet(command, options->quiet);
  add_json(command, options->json);
  command.footer("Example: lockstep sample runs/fashion-mnist-ddpm --first 64 --out more.png");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
