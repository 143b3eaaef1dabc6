#include "lockstep/train/evaluate.h"

#include <algorithm>

#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/core/log.h"
#include "lockstep/objective/accuracy.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/batches.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/run_folder.h"
#include "train/class_names.h"
#include "train/comparison.h"
#include "train/evaluate_pictures.h"

namespace lockstep::train {
namespace {

class Evaluating {
 public:
  explicit Evaluating(const EvaluateOptions& options)
      : options_(options), opened_(open_state(fs_, options.source)) {}

  Evaluation run() {
    const bool samples = objective::makes_samples(opened_.recipe.objective);
    if (samples) require_features(options_.features);
    if (!samples && !(options_.features.empty() && options_.features_hash.empty()))
      throw Error(Code::kUsage,
                  "--features is for what makes samples: " + options_.source + " is a classifier",
                  "leave it out to measure the classifier's accuracy");
    return samples ? distances() : accuracy();
  }

 private:
  std::unique_ptr<data::Dataset> open_moved() const try {
    const data::Options& data = opened_.recipe.data;
    return objective::makes_samples(opened_.recipe.objective)
               ? open_for_distances(data, options_.data)
               : open_compared(data, options_.data);
  } catch (const Error& error) {
    if (error.code() != Code::kData || !options_.data.empty()) throw;
    if (is_alone()) throw not_told(error.code(), ": " + error.message());
    throw moved(error, options_.source, opened_.loaded.meta().data, "--data PATH");
  }

  // The run's data, which must be what was trained on; or others of the same shape.
  std::unique_ptr<data::Dataset> open_dataset() const {
    auto dataset = open_moved();
    const checkpoint::Meta& meta = opened_.loaded.meta();
    if (is_alone() && dataset->hash() != meta.data)
      throw not_told(Code::kUsage, " there are others");
    if (dataset->sample_shape() != meta.sample_shape)
      throw Error(Code::kUsage,
                  "the data have samples of " + shape_text(dataset->sample_shape()) +
                      " values, the run of " + shape_text(meta.sample_shape),
                  "give data of the run's shape by --data");
    if (options_.data.empty() && dataset->hash() != meta.data)
      throw Error(Code::kData,
                  "the data are not those of the run: their hash is " + dataset->hash().hex(),
                  "--data with their path compares with other data on purpose");
    return dataset;
  }

  // A checkpoint without its run: its recipe has no data.path, and that key's default may be others.
  bool is_alone() const {
    return options_.data.empty() && !data::files(opened_.recipe.data).empty() &&
           !std::filesystem::is_directory(options_.source) && !state_of_step(options_.source);
  }
  Error not_told(Code code, const std::string& found) const {
    return {
        code,
        options_.source + " does not say where its data lie; by the default of data.path" + found,
        "give them by --data: their content hash begins with " +
            opened_.loaded.meta().data.brief()};
  }

  Evaluation begun(const data::Dataset& dataset, std::int64_t samples) const {
    require_at_most(samples, dataset);
    return {.run = EvaluatedRun{opened_.loaded.state().step, recipe::id(opened_.recipe),
                                opened_.loaded.meta().state},
            .data = dataset.hash(),
            .samples = samples,
            .seed = options_.seed,
            .portable = !recipe::is_native(opened_.recipe)};
  }

  void progress(double done, std::int64_t total) const {
    if (options_.progress) options_.progress(done, total);
  }

  Evaluation distances() {
    const auto& shape = opened_.loaded.meta().sample_shape;
    const auto network = open_features(fs_, options_.features, shape);
    const FeaturesOf of = network->of();
    require_pinned(options_.features, of, options_.features_hash);
    const auto dataset = open_dataset();
    warn_of_proportions(*dataset);
    const std::int64_t count = options_.samples.value_or(std::min(kEvaluated, dataset->size()));
    require_enough(count, of);
    Evaluation evaluation = begun(*dataset, count);
    const evaluation::Features real = features_of_data(*dataset, options_.seed, count, *network),
                               made = generated_features(count, *network);
    evaluation.portable = evaluation.portable && of.step.has_value();
    evaluation.distances = distances_between(of, real, made);
    return evaluation;
  }

  // Sample i has class i mod classes: each is as frequent as the others.
  void warn_of_proportions(const data::Dataset& dataset) const {
    // What a recipe makes has classes alike, and may have no end.
    if (dataset.classes() == 0 || data::files(opened_.recipe.data).empty()) return;
    const auto counts = dataset.class_counts();
    const auto [least, most] = std::ranges::minmax(counts);
    if (most > 2 * least)
      log::warn(options_.source + " makes as many samples of each class, and the data have " +
                std::to_string(least) + " to " + std::to_string(most) +
                " of one: the distances measure that, too (`lockstep sample --class` makes samples "
                "of one class, and `eval` takes an .npz)");
  }

  // Of other data than the run's: where a folder of a class is missing, `pack` gives other numbers
  // to those behind it, and nothing else tells.
  void warn_of_missing_classes(const data::Dataset& dataset) const {
    if (data::files(opened_.recipe.data).empty()) return;
    const auto counts = dataset.class_counts();
    const auto missing = std::ranges::count(counts, 0);
    if (missing > 0)
      log::warn(
          counted(missing, "class", "classes") + " of " + std::to_string(counts.size()) +
          (missing == 1 ? " has" : " have") + " no sample in these data, the first: " +
          std::to_string(std::ranges::find(counts, 0) - counts.begin()) +
          "; if a folder was missing when they were packed, others have its number: pack them "
          "with --classes");
  }

  // Sample i is that of the run's pictures, but for the key of its streams: options_.seed.
  evaluation::Features generated_features(std::int64_t count, FeatureNetwork& network) {
    Training training =
        make_training(opened_.recipe, opened_.loaded.meta().sample_shape, {.world = 1});
    opened_.loaded.restore(training.state);
    const auto sampler = sampler_of(training, options_.seed);
    evaluation::Features made;
    for (std::int64_t done = 0; done < count; done += kComparedAtOnce) {
      const std::int64_t some = std::min(kComparedAtOnce, count - done);
      const Tensor samples = draw_samples(training, *sampler, {done, some, {}}, [&](double part) {
        progress(static_cast<double>(done) + part * static_cast<double>(some), count);
      });
      network.append(as_saved(samples, opened_.recipe.data), made);
    }
    require_finite(made, "the run");
    return made;
  }

  Evaluation accuracy() {
    const auto dataset = open_dataset();
    Evaluation evaluation = begun(*dataset, options_.samples.value_or(dataset->size()));
    std::optional<data::Holdout> kept;
    if (dataset->hash() == opened_.loaded.meta().data) {
      kept.emplace(holdout_of(opened_.recipe, *dataset));
    } else {
      require_same_classes(fs_, options_.source, *dataset);
      warn_of_missing_classes(*dataset);
    }
    TrainedClassifier network(options_.source, std::move(opened_));
    std::int64_t done = 0;
    DataDraws(*dataset, options_.seed)
        .in_blocks(0, evaluation.samples, [&](const Tensor& samples, const Tensor& condition) {
          progress(done, evaluation.samples);
          evaluation.right += objective::count_correct(network.logits(samples), condition);
          done += samples.size(0);
        });
    if (kept && kept->count() > 0) evaluation.held_out = accuracy_of(network, *dataset, *kept);
    return evaluation;
  }

  Accuracy accuracy_of(TrainedClassifier& network, const data::Dataset& dataset,
                       const data::Holdout& kept) const {
    Accuracy accuracy{.samples = kept.count()};
    for (std::int64_t done = 0; done < kept.count(); done += kComparedAtOnce) {
      progress(done, kept.count());
      const auto [samples, condition] = block_of(
          dataset, held_out(dataset, kept, done, std::min(kComparedAtOnce, kept.count() - done)));
      accuracy.right += objective::count_correct(network.logits(samples), condition);
    }
    return accuracy;
  }

  FileSystem& fs_ = real_file_system();
  const EvaluateOptions& options_;
  OpenedState opened_;
};

}  // namespace

std::vector<std::pair<std::string, double>> values_of(const Distances& distances) {
  const evaluation::Neighbourhoods& around = distances.neighbourhoods;
  return {{"frechet_distance", distances.frechet},
          {"kernel_distance", distances.kernel},
          {"precision", around.precision},
          {"recall", around.recall},
          {"density", around.density},
          {"coverage", around.coverage}};
}

Evaluation evaluate(const EvaluateOptions& options) {
  return names_pictures(options.source) ? evaluate_pictures(options) : Evaluating(options).run();
}

}  // namespace lockstep::train
