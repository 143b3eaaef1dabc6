#include "lockstep/objective/rectified_flow.h"

#include "lockstep/numerics/cpu.h"

namespace lockstep::objective {
namespace {

class RectifiedFlow final : public Process {
 public:
  Time drawn(const numerics::Stream& stream, std::uint64_t position) const override {
    Time t = 0;
    numerics::Cpu().fill_uniform(stream, position, 1, &t);
    return t;
  }
  float told(Time t) const override { return 1000.0F * t; }
  Combination mix(Time t) const override { return {1.0F - t, t}; }
  std::optional<Combination> target(Time) const override { return Combination{1, -1}; }
  Combination x0(Time t) const override { return {1, -t}; }
  Combination noise(Time t) const override { return {1, 1.0F - t}; }
  Combination velocity(Time) const override { return {0, 1}; }
};

}  // namespace

std::unique_ptr<Process> make_rectified_flow() {
  return std::make_unique<RectifiedFlow>();
}

}  // namespace lockstep::objective
