#include "lockstep/train/interval.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "lockstep/comm/gather.h"
#include "lockstep/comm/own_time.h"
#include "lockstep/core/error.h"
#include "lockstep/core/progress.h"
#include "lockstep/ops/where.h"
#include "lockstep/train/signals.h"
#include "train/comparison.h"
#include "train/kept_classifier.h"

namespace lockstep::train {
namespace {

using Append = std::function<void(std::int64_t first, std::int64_t count, evaluation::Features&)>;

// Once a signal asks for an end, its step is left undone.
void require_no_stop_here() {
  require_no_stop("the evaluation");
}

// Of samples 0 … total - 1: in rounds, in which each rank computes the features of a portion.
evaluation::Features divided(std::int64_t total, std::int64_t width, comm::Group& group,
                             const Append& append) {
  const std::int64_t world = group.size(), me = group.rank().value;
  evaluation::Features all{.width = width, .values = {}};
  for (std::int64_t round = 0; round < total; round += world * kComparedAtOnce) {
    const auto begin = [&](std::int64_t rank) {
      return std::min(round + rank * kComparedAtOnce, total);
    };
    std::vector<std::size_t> sizes;
    for (std::int64_t rank = 0; rank < world; ++rank)
      sizes.push_back(static_cast<std::size_t>((begin(rank + 1) - begin(rank)) * width));
    evaluation::Features mine;
    comm::in_own_time(group, [&] {
      require_no_stop_here();
      if (begin(me) < begin(me + 1)) append(begin(me), begin(me + 1) - begin(me), mine);
    });
    for (const std::vector<float>& theirs : comm::gather(group, mine.values, sizes))
      all.values.insert(all.values.end(), theirs.begin(), theirs.end());
  }
  return all;
}

}  // namespace

recipe::Recipe with_features_hash(recipe::Recipe recipe, const std::filesystem::path& folder) {
  recipe::Evaluation& options = recipe.evaluation;
  if (options.every == 0 || !options.features_hash.empty()) return recipe;
  const auto begun = hash_of_begun(real_file_system(), {folder}, options.features);
  options.features_hash = begun ? *begun : classifier_at(options.features).of().hash.hex();
  return recipe;
}

struct IntervalEvaluation::Held {
  recipe::Evaluation options;
  RunFolder folder;
  FoundClassifier found;
  FeaturesOf of;
  DataDraws draws;
  evaluation::Features real;  // of the data; once they are asked for
};

IntervalEvaluation::IntervalEvaluation(const recipe::Recipe& recipe, const data::Dataset& data,
                                       const std::filesystem::path& folder,
                                       const std::string& features) {
  const recipe::Evaluation& options = recipe.evaluation;
  held_.reset(new Held{options,
                       {folder},
                       find_classifier(real_file_system(), {folder}, options, features),
                       {},
                       DataDraws(data, options.seed),
                       {}});
  held_->of = held_->found.network.of();
  if (options.features_hash.empty())
    throw Error(Code::kUsage, "evaluation.features_hash is missing",
                "that of " + held_->found.source + " is " + held_->of.hash.hex());
  held_->found.network.require_takes(data.sample_shape());
  require_enough(options.samples, held_->of, "evaluation.samples =");
  require_at_most(options.samples, data, "evaluation.samples =");
}

IntervalEvaluation::~IntervalEvaluation() = default;

void IntervalEvaluation::keep() const {
  train::keep(real_file_system(), held_->folder, held_->found);
}

std::int64_t IntervalEvaluation::classifier_bytes() const {
  return held_->found.network.loaded().state().bytes();
}

ledger::Named<double> IntervalEvaluation::operator()(Training& training, comm::Group& group) {
  const ops::Scope here("evaluation");
  const std::int64_t total = held_->options.samples;
  TrainedClassifier& network = held_->found.network;
  if (held_->real.values.empty()) {
    held_->real = divided(total, held_->of.width, group,
                          [&](std::int64_t first, std::int64_t count, evaluation::Features& out) {
                            held_->draws.in_blocks(first, first + count,
                                                   [&](const Tensor& samples, const Tensor&) {
                                                     network.append(samples, out);
                                                   });
                          });
    require_finite(held_->real, "the data");
  }
  const auto sampler = sampler_of(training, held_->options.seed);
  std::optional<Progress> progress;  // rank 0 shows that of all
  if (group.rank() == Rank(0)) progress.emplace("samples of the evaluation are made");
  const evaluation::Features made =
      divided(total, held_->of.width, group,
              [&](std::int64_t first, std::int64_t count, evaluation::Features& out) {
                const auto before = [&](double part) {
                  require_no_stop_here();
                  const auto of_all =
                      part * static_cast<double>(std::min(count * group.size(), total - first));
                  if (progress) (*progress)(static_cast<double>(first) + of_all, total);
                };
                const Tensor samples = draw_samples(training, *sampler, {first, count, {}}, before);
                network.append(as_saved(samples, training.recipe.data), out);
              });
  progress.reset();
  require_finite(made, "the run");
  ledger::Named<double> values;
  comm::in_own_time(group,
                    [&] { values = values_of(distances_between(held_->of, held_->real, made)); });
  return values;
}

const std::vector<std::string>& evaluation_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> names;
    for (const auto& [key, value] : values_of({})) names.push_back(key);
    return names;
  }();
  return keys;
}

}  // namespace lockstep::train
