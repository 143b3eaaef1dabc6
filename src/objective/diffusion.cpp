#include "objective/diffusion.h"

#include "lockstep/numerics/philox.h"
#include "lockstep/objective/condition.h"
#include "lockstep/objective/sampler.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/trace.h"
#include "objective/shared.h"

namespace lockstep::objective {
namespace {

// The samples of a batch, each at the time that is drawn for it.
class Times {
 public:
  Times(std::shared_ptr<const Process> process, const numerics::Stream& stream, const Batch& batch)
      : process_(std::move(process)),
        stream_(stream),
        first_(batch.first),
        n_(batch.values.size(0)) {}

  // That of the first sample.
  Time front() const { return at(*process_, stream_, first_); }
  // A value of each.
  Tensor values(const std::function<float(Time)>& of) const {
    return ops::by_sample(first_, n_, [process = process_, stream = stream_, of](Draw draw) {
      return of(at(*process, stream, draw));
    });
  }
  // Row i: a * x[i] + b * y[i], as `of` says for the time of sample i.
  Tensor combined(const std::function<LinearCombination(Time)>& of, const Tensor& x,
                  const Tensor& y) const {
    const Tensor first = values([of](Time t) { return of(t).a; });
    const Tensor second = values([of](Time t) { return of(t).b; });
    Tensor out = ops::empty(x.sizes());
    ops::device().combine_rows(n_, x.numel() / n_, ops::read(first), ops::read(x),
                               ops::read(second), ops::read(y), ops::write(out));
    return out;
  }

 private:
  static Time at(const Process& process, const numerics::Stream& stream, Draw draw) {
    return process.sample_time(stream, static_cast<std::uint64_t>(draw.value));
  }

  std::shared_ptr<const Process> process_;
  numerics::Stream stream_;
  Draw first_;
  std::int64_t n_;
};

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

  Loss loss(lane::Context& context, const Batch& batch, const Tensor& generated) const override;
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
  Tensor target_of(const Times& times, const Tensor& noise, const Tensor& x0) const {
    if (!process_->target(times.front())) return noise;
    return times.combined([process = process_](Time t) { return *process->target(t); }, noise, x0);
  }
  // The losses of the samples, each times the weight of its time.
  Tensor weighted(const Tensor& losses, const Times& times) const {
    if (!process_->weight(times.front())) return losses;
    return ops::scale_rows(
        losses, times.values([process = process_](Time t) { return *process->weight(t); }));
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
  const Tensor kept =
      ops::by_sample(batch.first, n, [stream = label_dropout_, rate = dropout_](Draw draw) {
        const auto position = static_cast<std::uint64_t>(draw.value);
        return numerics::draw_uniform(stream, position) < rate ? 0.0F : 1.0F;
      });
  Tensor condition = ops::empty({n, classes});
  ops::device().scale_rows(n, classes, ops::read(batch.condition), ops::read(kept),
                           ops::write(condition));
  return condition;
}

Tensor Denoise::losses(lane::Context& context, const Batch& batch, const Tensor& condition,
                       const Streams& streams) const {
  const std::int64_t n = batch.values.size(0);
  const Tensor noise = normals(streams.noise, batch.first.value, n, shape_);
  const Times times(process_, streams.time, batch);
  const Tensor t = times.values([process = process_](Time at) { return process->time_input(at); });
  const Tensor noisy = times.combined(
      [process = process_](Time at) { return process->noising(at); }, batch.values, noise);
  const Tensor target = target_of(times, noise, batch.values);
  if (condition.defined())
    ops::show("noise", {batch.values, batch.condition}, {noisy, t, target, condition});
  else
    ops::show("noise", {batch.values}, {noisy, t, target});
  const Tensor output = network_->forward(context, noisy, t, condition);
  return weighted(ops::mean_squared_error(output, target), times);
}

Loss Denoise::loss(lane::Context& context, const Batch& batch, const Tensor& /*generated*/) const {
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

  Tensor sample(const SampleRange& range, const BeforePass& before) const override;
  std::int64_t passes_per_sample() const override {
    return sampler_->predictions() * (is_guided() ? 2 : 1);
  }
  Tensor held_out_losses(const Batch& batch) const override;

 private:
  bool is_guided() const { return guidance_ != 1.0; }
  Tensor piece(const SampleRange& range, const std::function<void()>& before) const;
  Predict prediction(const SampleRange& range, const std::function<void()>& before) const;
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

Tensor Diffusion::sample(const SampleRange& range, const BeforePass& before) const {
  const at::NoGradGuard no_gradients;
  network_->prepare(false);
  return in_pieces(range, shape_, passes_per_sample(), before,
                   [&](const SampleRange& some, const auto& pass) { return piece(some, pass); });
}

Tensor Diffusion::held_out_losses(const Batch& batch) const {
  const at::NoGradGuard no_gradients;
  network_->prepare(false);
  lane::Context context = lane::Context::evaluation(batch.values.size(0));
  return denoise_->held_out_losses(context, batch);
}

Tensor Diffusion::piece(const SampleRange& range, const std::function<void()>& before) const {
  const auto more = [&](std::int64_t use) {
    numerics::Stream stream = noise_;
    stream.micro = static_cast<std::uint32_t>(use);
    return normals(stream, range.first, range.count, shape_);
  };
  const Tensor start = normals(start_, range.first, range.count, shape_);
  return sampler_->sample(scaled(start, process_->init_noise_sigma()), prediction(range, before),
                          more);
}

Predict Diffusion::prediction(const SampleRange& range, const std::function<void()>& before) const {
  const auto under = [this, n = range.count, &before](const Tensor& condition) -> Predict {
    return [this, n, &before, condition](const Tensor& x, Time t) {
      before();
      lane::Context context = lane::Context::evaluation(n);
      return network_->forward(context, scaled(x, process_->input_scale(t)),
                               ops::filled({n}, process_->time_input(t)), condition);
    };
  };
  const Predict with_class = under(condition_of(range, classes_));
  if (!is_guided()) return with_class;
  return guided(with_class, under(ops::filled({range.count, classes_}, 0.0F)));
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
  if (setting.classes == 0 && options.guidance != 1.0)
    throw Error(Code::kUsage, "guidance: the data have no classes",
                "set data.classes, or leave guidance out");
  if (options.guidance != 1.0 && static_cast<float>(options.label_dropout) == 0.0F)
    throw Error(Code::kUsage, "guidance: the network never sees a sample without its class",
                "train with label_dropout, such as 0.1, or leave guidance out");
  if (!setting.bounded) process->take_unbounded();
  return std::make_unique<Diffusion>(name, options, std::move(process), setting);
}

}  // namespace lockstep::objective
