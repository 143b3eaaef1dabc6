#include "lockstep/objective/variance_exploding.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::objective {
namespace {

namespace host = numerics::host;

LinearCombination rounded(double first, double second) {
  return {static_cast<float>(first), static_cast<float>(second)};
}

class VarianceExploding final : public Process {
 public:
  explicit VarianceExploding(const NoiseLevels& o)
      : mean_(static_cast<float>(o.p_mean)),
        std_(static_cast<float>(o.p_std)),
        data_(o.sigma_data),
        lowest_(o.sigma_min),
        highest_(o.sigma_max),
        rho_(o.rho) {}

  // exp(mean + std * normal)
  Time sample_time(const numerics::Stream& stream, std::uint64_t position) const override {
    numerics::Cpu cpu;
    Time t = 0;
    cpu.fill_normal(stream, position, 1, 1, &t);
    cpu.scale_add(1, std_, &t, &mean_, &t);
    cpu.unary(numerics::Unary::kExp, 1, &t, &t);
    return t;
  }
  float time_input(Time t) const override {  // c_noise
    return static_cast<float>(0.25 * host::log(static_cast<double>(t)));
  }
  float input_scale(Time t) const override { return static_cast<float>(1.0 / length(t)); }  // c_in
  float init_noise_sigma() const override { return static_cast<float>(highest_); }

  LinearCombination noising(Time t) const override {
    return rounded(1.0 / length(t), static_cast<double>(t) / length(t));
  }
  std::optional<LinearCombination> target(Time t) const override {
    return rounded(-data_ / length(t), static_cast<double>(t) / (data_ * length(t)));
  }
  LinearCombination x0(Time t) const override {  // c_skip, c_out
    return rounded(data_ * data_ / squared(t), static_cast<double>(t) * data_ / length(t));
  }
  LinearCombination noise(Time t) const override { return velocity(t); }
  LinearCombination velocity(Time t) const override {  // (x - x0) / t
    return rounded(static_cast<double>(t) / squared(t), -data_ / length(t));
  }
  // Equation 5.
  std::vector<double> times(std::int64_t steps) const override {
    const double first = host::pow(highest_, 1.0 / rho_), last = host::pow(lowest_, 1.0 / rho_);
    std::vector<double> times = {highest_};
    for (std::int64_t i = 1; i < steps; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(steps - 1);
      times.push_back(host::pow(first + part * (last - first), rho_));
    }
    times.push_back(0.0);
    return times;
  }

 private:
  // Variance and standard deviation of x_t.
  double squared(Time t) const {
    return static_cast<double>(t) * static_cast<double>(t) + data_ * data_;
  }
  double length(Time t) const { return host::sqrt(squared(t)); }

  float mean_, std_;
  double data_, lowest_, highest_, rho_;
};

}  // namespace

std::unique_ptr<Process> make_variance_exploding(const NoiseLevels& o) {
  if (o.sigma_max <= o.sigma_min)
    throw Error(Code::kUsage, "sigma_max: samples must start from more noise than sigma_min",
                "0.002 and 80.0 are usual");
  return std::make_unique<VarianceExploding>(o);
}

}  // namespace lockstep::objective
