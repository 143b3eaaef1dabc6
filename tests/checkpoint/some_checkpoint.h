// Small states and their descriptions for tests of checkpoints.
#pragma once

#include <cstring>

#include "lockstep/checkpoint/checkpoint.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::checkpoint::testing {

using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;

// Values are a function of step and tensor, so a checkpoint of another step is another file.
inline state::State state_of(const Shapes& shapes, Step step) {
  state::State state{.tensors = {}, .step = step, .samples = step.value * 64};
  for (const auto& [name, shape] : shapes) {
    at::Tensor tensor = ops::empty(shape);
    ops::device().fill_normal(
        {.key = {static_cast<std::uint32_t>(state.tensors.size()), 9}, .micro = 0},
        static_cast<std::uint64_t>(step.value), 1, tensor.numel(), ops::write(tensor));
    state.tensors.push_back({name, tensor});
  }
  return state;
}

// Each below 32768 elements: LibTorch copies larger ones with OpenMP, which does not work in a
// process that was forked from one that used it (the test of kills forks).
inline const Shapes& some_shapes() {
  static const Shapes shapes{{"model/param/conv.weight", {3, 3, 2, 5}},
                             {"model/param/conv.bias", {5}},
                             {"model/buffer/count", {}},
                             {"model/m/conv.weight", {90, 30}},
                             {"model/ema/conv.weight", {30, 1000}}};
  return shapes;
}
inline state::State some_state(Step step) {
  return state_of(some_shapes(), step);
}

inline Meta some_meta(const state::State& state) {
  return {.recipe = hash::sha256(as_bytes("recipe")),
          .data = hash::sha256(as_bytes("data")),
          .semantics = 3,
          .chain = hash::sha256(as_bytes("chain")),
          .state = state::digest(state).root,
          .sample_shape = {28, 28, 1},
          .recipe_text = "[run]\nseed = 1\n"};
}

inline bool same_bits(const state::State& a, const state::State& b) {
  if (a.step != b.step || a.samples != b.samples || a.tensors.size() != b.tensors.size())
    return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const auto &x = a.tensors[i], &y = b.tensors[i];
    if (x.name != y.name || x.tensor.sizes() != y.tensor.sizes() ||
        std::memcmp(ops::read(x.tensor), ops::read(y.tensor), x.tensor.nbytes()) != 0)
      return false;
  }
  return true;
}

// Loads, and checks that it is the state of its step and nothing else.
inline bool is_whole(FileSystem& fs, const std::filesystem::path& folder, Step step) {
  const Loaded loaded = load(fs, folder / file_name(step));
  return same_bits(loaded.state(), some_state(step));
}

}  // namespace lockstep::checkpoint::testing
