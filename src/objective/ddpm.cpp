// Denoising diffusion (Ho et al. 2020): the network sees x_t = sqrt(ab) x0 + sqrt(1-ab) e and
// predicts e (epsilon) or v = sqrt(ab) e - sqrt(1-ab) x0 (Salimans & Ho 2022).
#include "lockstep/data/stream.h"
#include "lockstep/numerics/host_math.h"
#include "lockstep/objective/schedule.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/trace.h"
#include "objective/kinds.h"

namespace lockstep::objective {

namespace {

// What a training step knows of a timestep.
struct Mix {
  float signal, noise;
};

model::Denoiser& denoiser_of(const Networks& networks) {
  return network_as<model::Denoiser>(networks, "model", "a denoiser, such as unet");
}

class Ddpm : public Objective {
 public:
  Ddpm(const Options& options, std::int64_t seed, const std::vector<std::int64_t>& shape)
      : v_(options.prediction == "v"),
        shape_(shape),
        timestep_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/timestep")),
        noise_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/noise")),
        sample_start_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/sample-start")),
        sample_noise_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/sample-noise")) {
    if (options.prediction != "epsilon" && options.prediction != "v") {
      throw Error(Code::kUsage, "prediction: there is no prediction '" + options.prediction + "'",
                  "use epsilon or v");
    }
    const Schedule schedule = make_schedule(options.schedule, options.timesteps);
    steps_ = make_sampler(options.sampler, schedule, options.prediction, options.sampler_steps);
    for (const double alpha_bar : schedule.alpha_bar) {
      mix_.push_back({static_cast<float>(numerics::host::sqrt(alpha_bar)),
                      static_cast<float>(numerics::host::sqrt(1.0 - alpha_bar))});
    }
  }

  std::vector<std::string> roles() const override { return {"model"}; }
  std::vector<Phase> phases() const override { return {{"denoise", "model"}}; }
  std::string sampled_role() const override { return "model"; }

  void check(const Networks& networks) const override { denoiser_of(networks); }
  Loss loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
            const Tensor& given) const override;
  Tensor sample(const Networks& networks, std::int64_t first, std::int64_t count) const override;

 private:
  Tensor sample_piece(model::Denoiser& network, std::int64_t first, std::int64_t n) const;

  bool v_;
  std::vector<std::int64_t> shape_;
  std::vector<Mix> mix_;  // a timestep
  std::vector<SamplerStep> steps_;
  numerics::Stream timestep_, noise_, sample_start_, sample_noise_;
};

Loss Ddpm::loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
                const Tensor& /*given*/) const {
  LOCKSTEP_ASSERT(phase == 0);
  auto& network = denoiser_of(networks);
  const std::int64_t n = batch.values.size(0), each = batch.values.numel() / n;
  const Tensor noise = normals(noise_, batch.first.value, n, shape_);
  std::vector<float> times, signals, noises, minus_noises;  // of each sample
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t drawn =
        numerics::draw_below(timestep_, static_cast<std::uint64_t>(batch.first.value + i), 0,
                             static_cast<std::uint32_t>(mix_.size()));
    times.push_back(static_cast<float>(drawn));
    signals.push_back(mix_[drawn].signal);
    noises.push_back(mix_[drawn].noise);
    minus_noises.push_back(-mix_[drawn].noise);
  }
  const Tensor t = ops::from_host(times, {n}), signal = ops::from_host(signals, {n});
  Tensor noisy = ops::empty(noise.sizes()), target = noise;
  numerics::Device& device = ops::device();
  device.combine_rows(n, each, ops::read(signal), ops::read(batch.values),
                      ops::read(ops::from_host(noises, {n})), ops::read(noise), ops::write(noisy));
  if (v_) {
    target = ops::empty(noise.sizes());
    device.combine_rows(n, each, ops::read(signal), ops::read(noise),
                        ops::read(ops::from_host(minus_noises, {n})), ops::read(batch.values),
                        ops::write(target));
  }
  ops::show("noise", {batch.values}, {noisy, t, target});
  const Tensor output = network.forward(context, noisy, t);
  return {ops::lane_sums(context.lanes(), ops::mean_squared_error(output, target)), {}};
}

Tensor Ddpm::sample(const Networks& networks, std::int64_t first, std::int64_t count) const {
  const at::NoGradGuard no_gradients;
  auto& network = denoiser_of(networks);
  network.prepare(false);
  return in_pieces(first, count, shape_, [&](std::int64_t from, std::int64_t n) {
    return sample_piece(network, from, n);
  });
}

Tensor Ddpm::sample_piece(model::Denoiser& network, std::int64_t first, std::int64_t n) const {
  Tensor x = normals(sample_start_, first, n, shape_), x0 = ops::empty(x.sizes());
  const std::int64_t size = x.numel();
  float *now = ops::write(x), *picture = ops::write(x0);
  for (const SamplerStep& step : steps_) {
    lane::Context context = lane::Context::evaluation(n);
    const Tensor output = network.forward(context, x, ops::filled({n}, static_cast<float>(step.t)));
    ops::device().combine(size, step.x0_from_x, now, step.x0_from_output, ops::read(output),
                          picture);
    ops::device().clamp(size, -1.0f, 1.0f, picture, picture);
    ops::device().combine(size, step.next_from_x0, picture, step.next_from_x, now, now);
    if (step.noise == 0.0f) continue;
    numerics::Stream stream = sample_noise_;
    stream.micro = static_cast<std::uint32_t>(step.t);
    const Tensor noise = normals(stream, first, n, shape_);
    ops::device().scale_add(size, step.noise, ops::read(noise), now, now);
  }
  return x;
}

}  // namespace

std::unique_ptr<Objective> make_ddpm(const Options& options, std::int64_t seed,
                                     const std::vector<std::int64_t>& sample_shape) {
  return std::make_unique<Ddpm>(options, seed, sample_shape);
}

}  // namespace lockstep::objective
