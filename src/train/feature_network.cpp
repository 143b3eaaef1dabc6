#include "train/feature_network.h"

#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/list.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/recipe/canonical.h"

namespace lockstep::train {
namespace {

constexpr std::uint64_t kMostScript = std::uint64_t{4} << 30;  // bytes

OpenedState checked(const std::string& source, OpenedState opened) {
  const recipe::Recipe& recipe = opened.recipe;
  if (recipe.objective.kind != "classifier")
    throw Error(Code::kUsage,
                source + " is no classifier: objective.kind is " + recipe.objective.kind.word(),
                "train one, such as recipes/fashion-mnist-classifier.toml");
  if (recipe::is_native(recipe))
    throw Error(Code::kUsage,
                source + ": run.numerics is native, so its features are bits of one machine",
                "train the classifier with portable numerics");
  return opened;
}

// SHA-256 over "lockstep features 1\n", the recipe id, and the SHA-256 tree of the state.
hash::Digest hash_of(const OpenedState& opened) {
  const hash::Digest recipe = recipe::id(opened.recipe),
                     state = state::commit(opened.loaded.state());
  return hash::Sha256()
      .update(as_bytes("lockstep features 1\n"))
      .update(recipe.view())
      .update(state.view())
      .finish();
}

}  // namespace

std::unique_ptr<FeatureNetwork> open_features(FileSystem& fs, const std::string& source,
                                              const std::vector<std::int64_t>& sample_shape) {
  if (source.ends_with(".pt")) return std::make_unique<ScriptedFeatures>(fs, source, sample_shape);
  auto classifier = std::make_unique<TrainedClassifier>(source, open_state(fs, source));
  classifier->require_takes(sample_shape);
  return classifier;
}

void FeatureNetwork::append(const Tensor& samples, evaluation::Features& features) {
  const Tensor more = rows(samples);
  const ops::HostView view(more);
  features.width = more.size(1);
  features.values.insert(features.values.end(), view.floats().begin(), view.floats().end());
}

TrainedClassifier::TrainedClassifier(const std::string& source, OpenedState opened)
    : source_(source), opened_(checked(source, std::move(opened))) {
  Training training =
      make_training(opened_.recipe, opened_.loaded.meta().sample_shape, {.world = 1});
  opened_.loaded.restore(training.state);
  const Trained& trained = training.trained.front();  // the rest of its state is let go
  network_ = std::dynamic_pointer_cast<model::Classifier>(trained.average ? trained.average
                                                                          : trained.network);
  LOCKSTEP_ASSERT(network_ != nullptr, trained.role);
}

FeaturesOf TrainedClassifier::of() const {
  return {"lockstep classifier", hash_of(opened_), opened_.loaded.state().step, network_->width()};
}

void TrainedClassifier::require_takes(const std::vector<std::int64_t>& sample_shape) const {
  const std::vector<std::int64_t>& own = opened_.loaded.meta().sample_shape;
  if (own == sample_shape) return;
  throw Error(Code::kUsage,
              source_ + " classifies pictures of " + shape_text(own) +
                  " values, and samples have " + shape_text(sample_shape),
              "use a classifier of the run's data");
}

template <class Pass>
Tensor TrainedClassifier::pass(const Tensor& samples, const Pass& pass) {
  const at::NoGradGuard no_grad;
  const ops::NumericsScope kernels(
      {.native = false, .samples = 1, .integer = recipe::has_integer_products(opened_.recipe)});
  return ops::guarded("features", [&] {
    network_->prepare(false);
    lane::Context context = lane::Context::evaluation(samples.size(0));
    return pass(context, samples);
  });
}

Tensor TrainedClassifier::rows(const Tensor& samples) {
  return pass(samples, [this](lane::Context& context, const Tensor& x) {
    return network_->features(context, x);
  });
}

Tensor TrainedClassifier::logits(const Tensor& samples) {
  return pass(samples, [this](lane::Context& context, const Tensor& x) {
    return network_->forward(context, x);
  });
}

ScriptedFeatures::ScriptedFeatures(FileSystem& fs, const std::string& path,
                                   const std::vector<std::int64_t>& sample_shape) {
  if (sample_shape.size() != 3)
    throw Error(Code::kUsage, path + " takes pictures, and samples are points or signals",
                "evaluate a run of pictures or fields");
  if (!std::filesystem::exists(path))
    throw Error(Code::kUsage, "there is no " + path, "give a file that torch.jit.save wrote");
  const Bytes file = read_file(fs, path, kMostScript, Code::kUsage);
  script_ = std::make_unique<ops::Script>(file, path);
  std::vector<std::int64_t> one = sample_shape;
  one.insert(one.begin(), 1);
  of_ = {"TorchScript", hash::sha256(file), {}, rows(ops::filled(one, 0.0F)).size(1)};
}

Tensor ScriptedFeatures::rows(const Tensor& samples) {
  return (*script_)(samples);
}

}  // namespace lockstep::train
