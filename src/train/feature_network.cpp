#include "train/feature_network.h"

#include "lockstep/core/error.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/recipe/canonical.h"

namespace lockstep::train {
namespace {

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

}  // namespace

FeatureNetwork::FeatureNetwork(FileSystem& fs, const std::string& source)
    : FeatureNetwork(source, open_state(fs, source)) {}

FeatureNetwork::FeatureNetwork(const std::string& source, OpenedState opened)
    : opened_(checked(source, std::move(opened))),
      training_(make_training(opened_.recipe, opened_.loaded.meta().sample_shape, {.world = 1})) {
  opened_.loaded.restore(training_.state);
  const Trained& trained = training_.trained.front();
  network_ = std::dynamic_pointer_cast<model::Classifier>(trained.average ? trained.average
                                                                          : trained.network);
  LOCKSTEP_ASSERT(network_ != nullptr, trained.role);
}

hash::Digest FeatureNetwork::hash() const {
  const hash::Digest recipe = recipe::id(opened_.recipe),
                     state = state::commit(opened_.loaded.state());
  return hash::Sha256()
      .update(as_bytes("lockstep features 1\n"))
      .update(recipe.view())
      .update(state.view())
      .finish();
}

template <class Pass>
Tensor FeatureNetwork::pass(const Tensor& samples, const Pass& pass) {
  const at::NoGradGuard no_grad;
  const ops::NumericsScope kernels(
      {.native = false, .samples = 1, .integer = recipe::has_integer_products(opened_.recipe)});
  return ops::guarded("features", [&] {
    network_->prepare(false);
    lane::Context context = lane::Context::evaluation(samples.size(0));
    return pass(context, samples);
  });
}

void FeatureNetwork::append(const Tensor& samples, evaluation::Features& features) {
  const Tensor rows = pass(samples, [this](lane::Context& context, const Tensor& x) {
    return network_->features(context, x);
  });
  const ops::HostView view(rows);
  features.width = width();
  features.values.insert(features.values.end(), view.floats().begin(), view.floats().end());
}

Tensor FeatureNetwork::logits(const Tensor& samples) {
  return pass(samples, [this](lane::Context& context, const Tensor& x) {
    return network_->forward(context, x);
  });
}

}  // namespace lockstep::train
