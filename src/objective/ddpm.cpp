// Denoising diffusion (Ho et al. 2020): the network sees x_t = sqrt(ab) x0 + sqrt(1-ab) e and
// predicts e (epsilon) or v = sqrt(ab) e - sqrt(1-ab) x0 (Salimans & Ho 2022).
#include "lockstep/data/stream.h"
#include "lockstep/objective/sampler.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/trace.h"
#include "objective/kinds.h"

namespace lockstep::objective {

namespace {

model::Denoiser& denoiser_of(const Networks& networks) {
  return network_as<model::Denoiser>(networks, "model", "a denoiser");
}

// Row i: of_first * a[i] + of_second * b[i], as `at` says for time i.
template <class At>
Tensor combined(const std::vector<Time>& times, const At& at, const Tensor& a, const Tensor& b) {
  std::vector<float> first, second;
  for (const Time t : times) {
    const Combination one = at(t);
    first.push_back(one.of_first);
    second.push_back(one.of_second);
  }
  const std::int64_t n = std::ssize(times);
  Tensor out = ops::empty(a.sizes());
  ops::device().combine_rows(n, a.numel() / n, ops::read(ops::from_host(first, {n})), ops::read(a),
                             ops::read(ops::from_host(second, {n})), ops::read(b), ops::write(out));
  return out;
}

class Ddpm : public Objective {
 public:
  Ddpm(const Options& options, std::int64_t seed, const std::vector<std::int64_t>& shape)
      : shape_(shape),
        timestep_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/timestep")),
        noise_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/noise")),
        sample_start_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/sample-start")),
        sample_noise_(data::stream(static_cast<std::uint64_t>(seed), "ddpm/sample-noise")) {
    const Schedule schedule = make_schedule(options.schedule, options.timesteps);
    process_ = make_process(schedule, options.prediction);
    sampler_ =
        make_sampler(sampler_steps(options.sampler, schedule, *process_, options.sampler_steps));
  }

  std::vector<std::string> roles() const override { return {"model"}; }
  std::vector<Phase> phases() const override { return {{"denoise", "model"}}; }
  std::string sampled_role() const override { return "model"; }

  void check(const Networks& networks) const override { denoiser_of(networks); }
  Loss loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
            const Tensor& given) const override;
  Tensor sample(const Networks& networks, std::int64_t first, std::int64_t count) const override;

 private:
  Tensor target_of(const std::vector<Time>& times, const Tensor& noise, const Tensor& x0) const {
    if (!process_->target(times.front())) return noise;
    return combined(
        times, [&](Time at) { return *process_->target(at); }, noise, x0);
  }
  Tensor sample_piece(model::Denoiser& network, std::int64_t first, std::int64_t n) const;

  std::vector<std::int64_t> shape_;
  std::unique_ptr<Process> process_;
  std::unique_ptr<Sampler> sampler_;
  numerics::Stream timestep_, noise_, sample_start_, sample_noise_;
};

Loss Ddpm::loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
                const Tensor& /*given*/) const {
  LOCKSTEP_ASSERT(phase == 0);
  auto& network = denoiser_of(networks);
  const std::int64_t n = batch.values.size(0);
  const Tensor noise = normals(noise_, batch.first.value, n, shape_);
  std::vector<Time> times;  // of each sample
  for (std::int64_t i = 0; i < n; ++i)
    times.push_back(process_->drawn(timestep_, static_cast<std::uint64_t>(batch.first.value + i)));
  const Tensor t = ops::from_host(times, {n});
  const Tensor noisy = combined(
      times, [&](Time at) { return process_->mix(at); }, batch.values, noise);
  const Tensor target = target_of(times, noise, batch.values);
  ops::show("noise", {batch.values}, {noisy, t, target});
  const Tensor output = network.forward(context, noisy, t, {});
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
  const auto predict = [&](const Tensor& x, Time t) {
    lane::Context context = lane::Context::evaluation(n);
    return network.forward(context, x, ops::filled({n}, t), {});
  };
  const auto more = [&](std::int64_t use) {
    numerics::Stream stream = sample_noise_;
    stream.micro = static_cast<std::uint32_t>(use);
    return normals(stream, first, n, shape_);
  };
  return sampler_->sample(normals(sample_start_, first, n, shape_), predict, more);
}

}  // namespace

std::unique_ptr<Objective> make_ddpm(const Options& options, std::int64_t seed,
                                     const std::vector<std::int64_t>& sample_shape) {
  return std::make_unique<Ddpm>(options, seed, sample_shape);
}

}  // namespace lockstep::objective
