#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/core/finite.h"
#include "lockstep/core/list.h"
#include "lockstep/data/dataset.h"
#include "lockstep/data/safetensors.h"
#include "lockstep/ops/device.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/training.h"
#include "torch_layout.h"

namespace lockstep::train {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(
      Code::kUsage, what,
      "give weights of the network that the recipe describes, as `lockstep export` names them");
}

// A linear layer at every position may be a convolution of 1x1 in PyTorch.
bool fits(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& wanted) {
  if (wanted.size() == 2 && shape.size() == 4 && shape[2] == 1 && shape[3] == 1) shape.resize(2);
  return shape == wanted;
}

// In PyTorch's order in the file, in ours in the state.
void fill(const data::LoadedTensor& from, const TorchLayout& layout, at::Tensor to) {
  if (!fits(from.shape, layout.shape))
    refuse(from.name + " has the shape " + shape_text(from.shape) + ", the recipe's network " +
           shape_text(layout.shape));
  std::vector<float> values(from.values.size());
  auto next = from.values.begin();
  layout.each([&](std::int64_t here) { values[static_cast<std::size_t>(here)] = *next++; });
  ops::from_host(values, to);
}

void fill(const std::vector<data::LoadedTensor>& from, const Weights& weights) {
  for (const Weights::Tensor& one : weights.tensors()) {
    const auto found = std::ranges::find(from, one.path, &data::LoadedTensor::name);
    if (found == from.end()) refuse("it has no " + one.path);
    fill(*found, weights.layout(one), one.tensor);
  }
}

void require_known(const std::vector<data::LoadedTensor>& from, const Weights& weights) {
  for (const data::LoadedTensor& one : from) {
    if (std::ranges::find(weights.tensors(), one.name, &Weights::Tensor::path) ==
        weights.tensors().end())
      refuse("it has " + one.name + ", and the recipe's network has not");
    if (!std::ranges::all_of(one.values, is_finite))
      throw Error(Code::kUsage, one.name + " has a value that is not finite",
                  "give weights of a run that did not diverge");
  }
}

}  // namespace

Start start_from_weights(const std::vector<WeightsFile>& files, recipe::Recipe recipe) {
  recipe::Recipe fresh = recipe;
  fresh.run.start = "fresh";
  Training training = make_training(fresh, data::open(recipe.data)->sample_shape(), {.world = 1});
  std::vector<std::string> notes;
  for (const WeightsFile& file : files) {
    const auto network =
        std::ranges::find(recipe.networks, file.role, &recipe::NetworkOptions::role);
    LOCKSTEP_ASSERT(network != recipe.networks.end(), file.role);
    const data::LoadedTensors loaded = data::read_safetensors(file.path);
    try {
      const Weights weights(training.state, file.role);
      require_known(loaded.tensors, weights);
      fill(loaded.tensors, weights);
      const optim::Options& optimizer = network->optimizer;
      for (std::size_t k = 0; k < optim::ema_decays(optimizer).size(); ++k)
        fill(loaded.tensors, Weights(training.state, file.role, k));
    } catch (const Error& error) {
      throw error.within(file.path.string());
    }
    const std::string digest = loaded.digest.hex();
    if (!network->file.empty() && network->file != digest)
      throw Error(Code::kUsage,
                  file.path.string() + " has the SHA-256 " + digest.substr(0, 12) +
                      ", the recipe names " + network->file.substr(0, 12) + " in [" + file.role +
                      "]",
                  "give that file with --weights, or leave 'file' out of the recipe");
    network->weights = "imported";
    network->file = digest;
    notes.push_back(file.role + " starts with the weights of " + file.path.string() + ", SHA-256 " +
                    digest.substr(0, 12));
  }
  for (const recipe::NetworkOptions& one : recipe.networks)
    if (recipe::is_imported(one) &&
        std::ranges::find(files, one.role, &WeightsFile::role) == files.end())
      throw Error(Code::kUsage,
                  "[" + one.role + "]: its weights are imported, and there is no file",
                  "give it with --weights " + one.role + "=FILE");
  const std::string state = state::commit(training.state).hex();
  if (recipe.run.start == "weights" && recipe.run.from.state != state)
    throw Error(Code::kUsage, "these weights make another state at step 0 than [run.from] names",
                "take [run.from] out of the recipe");
  recipe.run.start = "weights";
  recipe.run.from = {};
  recipe.run.from.state = state;
  return {std::move(recipe), std::move(training.state), std::move(notes)};
}

}  // namespace lockstep::train
