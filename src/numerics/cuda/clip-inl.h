// Private: clipping by the global norm for CUDA (elementwise.h). The norm stays on the GPU, so that
// the host need not wait for it before the update.
#pragma once

#include "lockstep/numerics/spec/clip.h"
#include "numerics/cuda/elementwise-inl.h"

namespace lockstep::numerics::cuda {

// One block: neighbours are added in pairs, and their sums again, which is the tree: a last one
// without a neighbour stays.
struct ClipFactorKernel {
  static constexpr std::int64_t kMostLevels = 64;
  float limit;
  std::int64_t count;
  const float* squares;
  float* sums;  // of all levels: fewer than count + kMostLevels
  float* factor;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const float* from = squares;
    float* to = sums;
    for (std::int64_t n = count; n > 1; n = (n + 1) / 2) {
      for (std::int64_t i = t.thread(); 2 * i < n; i += t.threads())
        to[i] = 2 * i + 1 < n ? from[2 * i] + from[2 * i + 1] : from[2 * i];
      t.barrier();
      from = to;
      to += (n + 1) / 2;
    }
    if (t.thread() == 0) *factor = spec::clip_factor(limit, spec::sqrt(from[0]));
  }
};

struct ScaleTile {
  const float* factor;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(const Thread& t, const TensorTile<float>& tile) const {
    const float by = *factor;
    if (by != spec::kKept) change(t, tile, [by](float x) { return canonical(by * x); });
  }
};

template <class Gpu>
void Device<Gpu>::clip_all(float limit, std::int64_t count, const float* squares,
                           std::span<const std::span<float>> tensors) {
  if (count == 0) return;
  const std::int64_t room = count + ClipFactorKernel::kMostLevels;
  const Scratch<Gpu, float> sums(*gpu_, room + 1);
  float* const factor = sums.data() + room;
  gpu_->launch(Grid{1, kThreads, 0}, ClipFactorKernel{limit, count, squares, sums.data(), factor});
  each_of_all(*gpu_, tensors, ScaleTile{factor});
}

}  // namespace lockstep::numerics::cuda
