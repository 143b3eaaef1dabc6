#include "torch_layout.h"

#include "lockstep/train/training.h"

namespace lockstep::train {
namespace {

TorchLayout of_shape(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 4)
    return {{shape[3], shape[2], shape[0], shape[1]}, shape[0] * shape[1], shape[2], shape[3]};
  if (shape.size() == 2) return {{shape[1], shape[0]}, 1, shape[0], shape[1]};
  return {shape, c10::multiply_integers(shape)};
}

// A vector over all dimensions of a weight but its last: the buffer u of spectral norm.
TorchLayout of_inputs(std::vector<std::int64_t> weight) {
  weight.back() = 1;
  TorchLayout layout = of_shape(weight);
  layout.shape = {layout.positions * layout.in};
  return layout;
}

}  // namespace

Weights::Weights(const state::State& state, const std::string& role,
                 std::optional<std::size_t> average) {
  const std::string averages = average ? role + "/" + average_kind(*average) + "/" : "";
  for (const state::Named& named : state.tensors) {
    if (take(named, role + "/param/") || take(named, role + "/buffer/")) continue;
    if (average && named.name.starts_with(averages))
      tensors_.at(place_.at(named.name.substr(averages.size()))).tensor = named.tensor;
  }
}

bool Weights::take(const state::Named& named, const std::string& prefix) {
  if (!named.name.starts_with(prefix)) return false;
  place_[named.name.substr(prefix.size())] = tensors_.size();
  tensors_.push_back({named.name.substr(prefix.size()), named.tensor});
  return true;
}

TorchLayout Weights::layout(const Tensor& tensor) const {
  if (tensor.path.ends_with(".u")) {
    const auto weight = place_.find(tensor.path.substr(0, tensor.path.size() - 1) + "weight");
    if (weight != place_.end()) return of_inputs(tensors_[weight->second].tensor.sizes().vec());
  }
  return of_shape(tensor.tensor.sizes().vec());
}

}  // namespace lockstep::train
