#include "objective/diffusion.h"

#include "lockstep/numerics/cpu.h"
#include "lockstep/objective/condition.h"
#include "lockstep/objective/sampler.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/trace.h"
#include "objective/shared.h"

namespace lockstep::objective {
namespace {

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

Tensor scaled(const Tensor& x, float factor) {
  if (factor == 1.0F) return x;
  Tensor out = ops::empty(x.sizes());
  ops::device().scale(x.numel(), factor, ops::read(x), ops::write(out));
  return out;
}

class Denoise final : public Phase {
 public:
  Denoise(const std::string& name, const DiffusionOptions& options,
          std::shared_ptr<const Process> process, std::shared_ptr<model::Denoiser> network,
          const Setting& setting)
      : process_(std::move(process)),
        network_(std::move(network)),
        shape_(setting.sample_shape),
        seed_(setting.seed),
        dropout_(static_cast<float>(options.label_dropout)),
        training_{stream_of(setting, name + "/timestep"), stream_of(setting, name + "/noise")},
        held_out_{stream_of(setting, name + "/held-out-timestep"),
                  stream_of(setting, name + "/held-out-noise")},
        label_dropout_(stream_of(setting, name + "/label-dropout")) {}

  Loss loss(lane::Context& context, const Batch& batch, const Tensor& given) const override;
  Tensor held_out_losses(lane::Context& context, const Batch& batch) const {
    return losses(context, batch, batch.condition, held_out_);
  }

 private:
  struct Streams {
    numerics::Stream time, noise;
  };
  // Of each sample, by these streams.
  Tensor losses(lane::Context& context, const Batch& batch, const Tensor& condition,
                const Streams& streams) const;
  Tensor target_of(const std::vector<Time>& times, const Tensor& noise, const Tensor& x0) const {
    if (!process_->target(times.front())) return noise;
    return combined(
        times, [&](Time at) { return *process_->target(at); }, noise, x0);
  }
  // The losses of the samples, each times the weight of its time.
  Tensor weighted(const Tensor& losses, const std::vector<Time>& times) const {
    if (!process_->weight(times.front())) return losses;
    std::vector<float> weights;
    for (const Time t : times) weights.push_back(*process_->weight(t));
    return ops::scale_rows(losses, ops::from_host(weights, {std::ssize(times)}));
  }
  // Without the class of the samples that are drawn for it.
  Tensor dropped(const Batch& batch) const;

  std::shared_ptr<const Process> process_;
  std::shared_ptr<model::Denoiser> network_;
  std::vector<std::int64_t> shape_;
  std::int64_t seed_;
  float dropout_;
  Streams training_, held_out_;
  numerics::Stream label_dropout_;
};

Tensor Denoise::dropped(const Batch& batch) const {
  if (dropout_ == 0.0F) return batch.condition;
  const std::int64_t n = batch.condition.size(0), classes = batch.condition.size(1);
  std::vector<float> kept;
  for (std::int64_t i = 0; i < n; ++i) {
    float uniform = 0;
    ops::device().host().fill_uniform(
        label_dropout_, static_cast<std::uint64_t>(batch.first.value + i), 1, &uniform);
    kept.push_back(uniform < dropout_ ? 0.0F : 1.0F);
  }
  Tensor condition = ops::empty({n, classes});
  ops::device().scale_rows(n, classes, ops::read(batch.condition),
                           ops::read(ops::from_host(kept, {n})), ops::write(condition));
  return condition;
}

Tensor Denoise::losses(lane::Context& context, const Batch& batch, const Tensor& condition,
                       const Streams& streams) const {
  const std::int64_t n = batch.values.size(0);
  const Tensor noise = normals(streams.noise, batch.first.value, n, shape_);
  std::vector<Time> times;  // of each sample
  std::vector<float> told;
  for (std::int64_t i = 0; i < n; ++i) {
    times.push_back(
        process_->drawn(streams.time, static_cast<std::uint64_t>(batch.first.value + i)));
    told.push_back(process_->told(times.back()));
  }
  const Tensor t = ops::from_host(told, {n});
  const Tensor noisy = combined(
      times, [&](Time at) { return process_->mix(at); }, batch.values, noise);
  const Tensor target = target_of(times, noise, batch.values);
  if (condition.defined())
    ops::show("noise", {batch.values, batch.condition}, {noisy, t, target, condition});
  else
    ops::show("noise", {batch.values}, {noisy, t, target});
  const Tensor output = network_->forward(context, noisy, t, condition);
  return weighted(ops::mean_squared_error(output, target), times);
}

Loss Denoise::loss(lane::Context& context, const Batch& batch, const Tensor& /*given*/) const {
  context.draw_at({.seed = seed_, .first = batch.first});
  return {ops::lane_sums(context.lanes(), losses(context, batch, dropped(batch), training_))};
}

class Diffusion final : public Objective {
 public:
  Diffusion(const std::string& name, const DiffusionOptions& options,
            std::shared_ptr<const Process> process, const Setting& setting)
      : process_(std::move(process)),
        sampler_(options.sampler.row("sampler").make(options.sampler, *process_)),
        network_(network_as<model::Denoiser>(setting, "model", "a denoiser")),
        shape_(setting.sample_shape),
        classes_(setting.classes),
        guidance_(options.guidance),
        start_(stream_of(setting, name + "/sample-start")),
        noise_(stream_of(setting, name + "/sample-noise")) {
    auto denoise = std::make_unique<Denoise>(name, options, process_, network_, setting);
    denoise_ = denoise.get();
    phases_.push_back(std::move(denoise));
  }

  Tensor sample(const Numbers& numbers) const override;
  Tensor held_out_losses(const Batch& batch) const override;

 private:
  Tensor piece(const Numbers& numbers) const;
  Predict prediction(const Numbers& numbers) const;
  Predict guided(Predict with_class, Predict without) const;

  const Denoise* denoise_ = nullptr;  // the phase
  std::shared_ptr<const Process> process_;
  std::unique_ptr<Sampler> sampler_;
  std::shared_ptr<model::Denoiser> network_;
  std::vector<std::int64_t> shape_;
  std::int64_t classes_;
  double guidance_;
  numerics::Stream start_, noise_;
};

Tensor Diffusion::sample(const Numbers& numbers) const {
  const at::NoGradGuard no_gradients;
  network_->prepare(false);
  return in_pieces(numbers, shape_, [&](const Numbers& some) { return piece(some); });
}

Tensor Diffusion::held_out_losses(const Batch& batch) const {
  const at::NoGradGuard no_gradients;
  network_->prepare(false);
  lane::Context context = lane::Context::evaluation(batch.values.size(0));
  return denoise_->held_out_losses(context, batch);
}

Tensor Diffusion::piece(const Numbers& numbers) const {
  const auto more = [&](std::int64_t use) {
    numerics::Stream stream = noise_;
    stream.micro = static_cast<std::uint32_t>(use);
    return normals(stream, numbers.first, numbers.count, shape_);
  };
  const Tensor start = normals(start_, numbers.first, numbers.count, shape_);
  return sampler_->sample(scaled(start, process_->start()), prediction(numbers), more);
}

Predict Diffusion::prediction(const Numbers& numbers) const {
  const auto under = [this, n = numbers.count](const Tensor& condition) -> Predict {
    return [this, n, condition](const Tensor& x, Time t) {
      lane::Context context = lane::Context::evaluation(n);
      return network_->forward(context, scaled(x, process_->scale(t)),
                               ops::filled({n}, process_->told(t)), condition);
    };
  };
  const Predict with_class = under(condition_of(numbers, classes_));
  if (guidance_ == 1.0) return with_class;
  return guided(with_class, under(ops::filled({numbers.count, classes_}, 0.0F)));
}

// Ho & Salimans 2022, equation 6, with s = 1 + w.
Predict Diffusion::guided(Predict with_class, Predict without) const {
  return [=, s = static_cast<float>(guidance_), rest = static_cast<float>(1.0 - guidance_)](
             const Tensor& x, Time t) {
    const Tensor c = with_class(x, t), n = without(x, t);
    Tensor both = ops::empty(c.sizes());
    ops::device().combine(c.numel(), s, ops::read(c), rest, ops::read(n), ops::write(both));
    return both;
  };
}

}  // namespace

std::unique_ptr<Objective> make_diffusion(const std::string& name, const DiffusionOptions& options,
                                          std::unique_ptr<Process> process,
                                          const Setting& setting) {
  if (setting.classes == 0 && options.label_dropout > 0.0)
    throw Error(Code::kUsage, "label_dropout: the data have no classes",
                "set data.classes, or leave label_dropout out");
  if (options.guidance != 1.0 && static_cast<float>(options.label_dropout) == 0.0F)
    throw Error(Code::kUsage, "guidance: the network never sees a sample without its class",
                "train with label_dropout, such as 0.1, or leave guidance out");
  if (!setting.bounded) process->take_unbounded();
  return std::make_unique<Diffusion>(name, options, std::move(process), setting);
}

}  // namespace lockstep::objective
