// Heun's method (Karras et al. 2022, algorithm 1): along the mean of the slopes at a step's
// beginning and at the end of Euler's step; the last step, to time 0, is Euler's. Nothing is
// clipped.
#include "lockstep/objective/heun.h"

#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"
#include "objective/kinds.h"
#include "objective/slopes.h"

namespace lockstep::objective {
namespace {

class Heun final : public Sampler {
 public:
  explicit Heun(std::vector<SlopeStep> steps) : steps_(std::move(steps)) {}

  at::Tensor sample(at::Tensor x, const Predict& predict, const Noise& /*more*/) const override {
    numerics::Device& device = ops::device();
    const std::int64_t size = x.numel();
    float* const now = ops::write(x);
    at::Tensor ahead = ops::empty(x.sizes());
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const float length = steps_[i].length;
      at::Tensor slope = slope_at(steps_[i], x, predict);
      float* const sum = ops::write(slope);
      if (i + 1 == steps_.size()) {
        device.scale_add(size, length, sum, now, now);
        break;
      }
      device.scale_add(size, length, sum, now, ops::write(ahead));
      const at::Tensor next = slope_at(steps_[i + 1], ahead, predict);
      device.binary(numerics::Binary::kAdd, size, sum, ops::read(next), sum);
      device.scale_add(size, 0.5F * length, sum, now, now);
    }
    return x;
  }
  std::int64_t predictions() const override {
    return 2 * static_cast<std::int64_t>(steps_.size()) - 1;
  }

 private:
  const std::vector<SlopeStep> steps_;
};

}  // namespace

std::unique_ptr<Sampler> make_heun(const Kind<SamplerKind>& chosen, const Process& process) {
  return std::make_unique<Heun>(slope_steps("heun", chosen.as<HeunOptions>().steps, process));
}

}  // namespace lockstep::objective
