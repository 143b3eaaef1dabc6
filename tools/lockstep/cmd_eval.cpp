#include <functional>
#include <optional>

#include "command.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/log.h"
#include "lockstep/core/progress.h"
#include "lockstep/core/text.h"
#include "lockstep/train/evaluate.h"
#include "mistaken.h"
#include "output.h"

namespace lockstep::cli {
namespace {

struct Options {
  train::EvaluateOptions evaluated;
  Machine machine;
  bool json = false, quiet = false;
};

// "frechet_distance" as people read it: "Frechet distance".
std::string title(std::string key) {
  for (char& c : key)
    if (c == '_') c = ' ';
  if (key.front() >= 'a') key.front() = static_cast<char>(key.front() - 'a' + 'A');
  return key;
}

double share(std::int64_t right, std::int64_t samples) {
  return static_cast<double>(right) / static_cast<double>(samples);
}

Json json_of(const train::Evaluation& evaluation) {
  Json out = Json::object();
  if (const auto& run = evaluation.run)
    out = {{"step", run->step.value}, {"recipe", run->recipe.hex()}, {"state", run->state.hex()}};
  else
    out["pictures"] = evaluation.pictures->hex();
  out["data"] = evaluation.data.hex();
  out["samples"] = evaluation.samples;
  out["seed"] = evaluation.seed;
  out["portable"] = evaluation.portable;
  if (!evaluation.distances) {
    out["right"] = evaluation.right;
    out["accuracy"] = share(evaluation.right, evaluation.samples);
    if (const auto& kept = evaluation.held_out)
      out["held_out"] = {{"samples", kept->samples},
                         {"right", kept->right},
                         {"accuracy", share(kept->right, kept->samples)}};
    return out;
  }
  const train::FeaturesOf& of = evaluation.distances->features;
  Json features = {{"network", of.network}, {"hash", of.hash.hex()}, {"width", of.width}};
  if (of.step) features["step"] = of.step->value;
  out["features"] = features;
  for (const auto& [key, value] : values_of(*evaluation.distances)) out[key] = value;
  return out;
}

// others: not the data of its training.
void print_lines_of(const std::string& source, const train::Evaluation& evaluation, bool others) {
  const std::string of_data = " of the data " + evaluation.data.brief(),
                    from = evaluation.run ? ": step " + std::to_string(evaluation.run->step.value)
                                          : ": sha256 " + evaluation.pictures->brief();
  if (!evaluation.distances) {
    print_line(source, from, ", accuracy ", to_text(share(evaluation.right, evaluation.samples)),
               ": ", evaluation.right, " of ", counted(evaluation.samples, "sample"), of_data,
               others ? "" : ", training samples included");
    if (const auto& kept = evaluation.held_out)
      print_line("of those held out ", to_text(share(kept->right, kept->samples)), ": ",
                 kept->right, " of ", counted(kept->samples, "sample"));
  } else {
    const std::string both = counted(evaluation.samples, "sample"),
                      behind = "  (features: " + evaluation.distances->features.network + " " +
                               evaluation.distances->features.hash.brief() + ", " + both +
                               ", seed " + std::to_string(evaluation.seed) + ")";
    print_line(source, from, ", ", both, " against as many", of_data);
    for (const auto& [key, value] : values_of(*evaluation.distances))
      print_line(left(title(key), 18), left(to_text(value), 22), behind);
  }
  if (!evaluation.portable) print_line("native: these values are this machine's");
}

Code run(const Options& options) {
  log::set_quiet(options.quiet);
  require_no_other_than_samples(options.evaluated.source);
  train::EvaluateOptions evaluated = options.evaluated;
  const auto computing = ComputingScope::of_task(options.machine);
  std::optional<Progress> progress;  // ends before the result is printed
  evaluated.progress = std::ref(progress.emplace("samples are done"));
  const train::Evaluation evaluation = train::evaluate(evaluated);
  progress.reset();
  if (options.json)
    print_json(json_of(evaluation));
  else
    print_lines_of(evaluated.source, evaluation, !evaluated.data.empty());
  return Code::kOk;
}

}  // namespace

Run add_eval(Command& command) {
  const auto options = std::make_shared<Options>();
  train::EvaluateOptions& evaluated = options->evaluated;
  command
      .add_option(
          "source", evaluated.source,
          "a run: RUN (its newest checkpoint) or RUN@STEP; or a checkpoint. Of a classifier "
          "the accuracy is measured, of others the distances of their samples to the data. Or "
          "pictures of any program: NAME.npz or NAME.npy, uint8 [n, h, w, c] or [n, h, w], or the "
          "file that `lockstep pack` made of a folder of them")
      .required();
  command
      .add_option(
          "--features", evaluated.features,
          "whose features are compared: a classifier, a run or checkpoint as above; or NAME.pt, a "
          "TorchScript file, which LibTorch runs: the values are then this machine's")
      .value("RUN");
  command
      .add_option("--features-hash", evaluated.features_hash,
                  "the hash that it must have, whole or its beginning")
      .value("HASH")
      .check([](const std::string& text) {
        const bool hex = text.find_first_not_of("0123456789abcdef") == std::string::npos;
        return hex && text.size() >= 8 && text.size() <= 64
                   ? ""
                   : "give 8 to 64 digits of a hash, 0-9 and a-f";
      });
  command
      .add_option(
          "--samples", evaluated.samples,
          "of the run, and as many of the data [2048, at most those that there are]; for an "
          "accuracy, of the data [all]")
      .range(std::int64_t{1}, std::int64_t{1} << 24);
  command
      .add_option(
          "--seed", evaluated.seed,
          "which samples of the data, and where the run's samples start; a file's are its first")
      .range(std::int64_t{0}, INT64_MAX);
  command
      .add_option("--data", evaluated.data,
                  "where the data lie, if not where the recipe says; or others of the same shape, "
                  "such as held-out pictures. Needed for pictures of a file")
      .value("PATH");
  add_machine(command, options->machine);
  add_json(command, options->json);
  add_quiet(command, options->quiet);
  command.footer(
      "Example: lockstep eval runs/fashion-mnist-ddpm --features runs/fashion-mnist-classifier\n"
      "Values are not comparable with those of other feature networks, such as Inception.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
