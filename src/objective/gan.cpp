// GANs. The losses:
//   gan (non-saturating logistic, Goodfellow et al. 2014)
//     discriminator: softplus(-D(real)) + softplus(D(fake))    generator: softplus(-D(fake))
//   hinge-gan (Lim & Ye 2017; Miyato et al. 2018)
//     discriminator: relu(1 - D(real)) + relu(1 + D(fake))     generator: -D(fake)
//   wasserstein-gan (Arjovsky et al. 2017)
//     discriminator: -D(real) + D(fake)                        generator: -D(fake)
// Penalties of the discriminator:
//   R1 (Mescheder et al. 2018)                  r1/2 |dD/dx|^2 at real samples
//   gradient penalty (Gulrajani et al. 2017)    gp (|dD/dx| - 1)^2 at u real + (1 - u) fake
// A step trains the discriminator; one that is a multiple of discriminator_steps then the
// generator. The real and the fake batch are two forward passes: batch norm never mixes them. Fakes
// have the classes of the real samples.
#include "lockstep/objective/gan.h"

#include "lockstep/numerics/philox.h"
#include "lockstep/objective/wasserstein_gan.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/trace.h"
#include "objective/kinds.h"
#include "objective/shared.h"

namespace lockstep::objective {
namespace {

using model::Discriminator;
using model::Generator;

// A loss, by the logits' sign: `wrong` is a logit where the other sign is right.
struct GanLoss {
  Tensor (*discriminator)(const Tensor& wrong);
  Tensor (*generator)(const Tensor& wrong);
  bool judges = true;  // a logit's sign says whether a sample is real
};

Tensor hinge(const Tensor& wrong) {
  return ops::leaky_relu(ops::add(wrong, ops::filled(wrong.sizes(), 1.0F)), 0.0F);
}
Tensor as_it_is(const Tensor& wrong) {
  return wrong;
}

constexpr GanLoss kNonSaturating = {&ops::softplus, &ops::softplus}, kHinge = {&hinge, &as_it_is},
                  kWasserstein = {&as_it_is, &as_it_is, false};

// Weights of the discriminator's penalties; 0: none.
struct Penalties {
  float r1 = 0, gp = 0;
};

// (sqrt(s + 1e-12) - 1)^2 of each sample: the root has a slope where s is 0, too.
Tensor squared_excess(const Tensor& s) {
  const Tensor slope =
      ops::unary(numerics::Unary::kSqrt, ops::add(s, ops::filled(s.sizes(), 1e-12F)));
  return ops::unary(numerics::Unary::kSquare, ops::add(slope, ops::filled(slope.sizes(), -1.0F)));
}

// What makes fakes in a phase. Every phase draws latents of its own.
class Fakes {
 public:
  Fakes(const Setting& setting, std::shared_ptr<Generator> generator, std::uint32_t phase)
      : generator_(std::move(generator)), latent_(stream_of(setting, "gan/latent")) {
    latent_.micro = phase;
  }

  Tensor operator()(lane::Context& context, const Batch& batch, bool trained) const {
    const at::AutoGradMode with_graph(trained);
    const Tensor z =
        normals(latent_, batch.first.value, batch.values.size(0), {generator_->latent()});
    ops::show("latents", {}, {z});
    return generator_->forward(context, z, batch.condition, trained);
  }

 private:
  std::shared_ptr<Generator> generator_;
  numerics::Stream latent_;
};

// Of logits of one sign, how many there are and how many are right.
Counts judged(const Tensor& logits, float sign) {
  const ops::HostView values(logits);
  const auto right =
      std::ranges::count_if(values.floats(), [sign](float logit) { return sign * logit > 0.0F; });
  return {{"judged", logits.numel()}, {"judged rightly", right}};
}

class DiscriminatorPhase final : public Phase {
 public:
  DiscriminatorPhase(const GanLoss& loss, const Penalties& penalties, const Setting& setting,
                     Fakes fakes, std::shared_ptr<Discriminator> discriminator)
      : loss_(loss),
        penalties_(penalties),
        mix_(stream_of(setting, "gan/mix")),
        fakes_(std::move(fakes)),
        discriminator_(std::move(discriminator)) {}

  Tensor generated(lane::Context& context, const Batch& batch) const override {
    return fakes_(context, batch, /*trained=*/false);
  }
  Loss loss(lane::Context& context, const Batch& batch, const Tensor& fake) const override;

 private:
  Tensor between(const Batch& batch, const Tensor& fake) const;
  Tensor squared_slope(lane::Context& context, const Tensor& samples,
                       const Tensor& condition) const;

  GanLoss loss_;
  Penalties penalties_;
  numerics::Stream mix_;
  Fakes fakes_;
  std::shared_ptr<Discriminator> discriminator_;
};

Loss DiscriminatorPhase::loss(lane::Context& context, const Batch& batch,
                              const Tensor& fake) const {
  const auto pass = [&](const Tensor& x) {
    return discriminator_->forward(context, x, batch.condition, /*trained=*/true);
  };
  const Tensor on_real = pass(batch.values), on_fake = pass(fake);
  Tensor loss = ops::add(loss_.discriminator(ops::scale(on_real, -1.0F)),
                         loss_.discriminator(ops::scale(on_fake, 1.0F)));
  if (penalties_.r1 > 0.0F) {
    const Tensor squares = squared_slope(context, batch.values, batch.condition);
    loss = ops::add(loss, ops::scale(squares, 0.5F * penalties_.r1));
  }
  if (penalties_.gp > 0.0F) {
    const Tensor squares = squared_slope(context, between(batch, fake), batch.condition);
    loss = ops::add(loss, ops::scale(squared_excess(squares), penalties_.gp));
  }
  if (!loss_.judges) return {ops::lane_sums(context.lanes(), loss)};
  const auto counts = [](const std::vector<Tensor>& seen) {
    Counts both = judged(seen[0], 1.0F);
    add(both, judged(seen[1], -1.0F));
    return both;
  };
  return {ops::lane_sums(context.lanes(), loss), {ops::bare(on_real), ops::bare(on_fake)}, counts};
}

// u real + (1 - u) fake, with a uniform u for each sample.
Tensor DiscriminatorPhase::between(const Batch& batch, const Tensor& fake) const {
  const std::int64_t n = batch.values.size(0);
  const auto u = [stream = mix_](Draw draw) {
    return numerics::draw_uniform(stream, static_cast<std::uint64_t>(draw.value));
  };
  const Tensor shares = ops::by_sample(batch.first, n, u);
  const Tensor rest = ops::by_sample(batch.first, n, [u](Draw draw) { return 1.0F - u(draw); });
  Tensor mixed = ops::empty(batch.values.sizes());
  ops::device().combine_rows(n, mixed.numel() / n, ops::read(shares), ops::read(batch.values),
                             ops::read(rest), ops::read(fake), ops::write(mixed));
  ops::show("between", {batch.values, fake}, {mixed});
  return mixed;
}

// |dD/dx|^2 at each sample. A forward pass of its own: see lane::Context::enter.
Tensor DiscriminatorPhase::squared_slope(lane::Context& context, const Tensor& samples,
                                         const Tensor& condition) const {
  Tensor x = samples.detach();
  x.set_requires_grad(true);
  const ops::TwiceScope penalised;
  const Tensor logits = discriminator_->forward(context, x, condition, /*trained=*/false);
  // A sample's logit depends on that sample alone, so the gradient of their sum is each one's.
  const Tensor ones = ops::filled(logits.sizes(), 1.0F);
  return ops::row_squares(ops::gradients({logits}, {ones}, {x}, /*create_graph=*/true).front());
}

class GeneratorPhase final : public Phase {
 public:
  GeneratorPhase(const GanLoss& loss, Fakes fakes, std::shared_ptr<Discriminator> discriminator)
      : loss_(loss), fakes_(std::move(fakes)), discriminator_(std::move(discriminator)) {}

  Tensor generated(lane::Context& context, const Batch& batch) const override {
    return fakes_(context, batch, /*trained=*/true);
  }
  Loss loss(lane::Context& context, const Batch& batch, const Tensor& fake) const override {
    const Tensor logits =
        discriminator_->forward(context, fake, batch.condition, /*trained=*/false);
    return {ops::lane_sums(context.lanes(), loss_.generator(ops::scale(logits, -1.0F)))};
  }

 private:
  GanLoss loss_;
  Fakes fakes_;
  std::shared_ptr<Discriminator> discriminator_;
};

class Gan final : public Objective {
 public:
  Gan(const GanLoss& loss, const Penalties& penalties, const Setting& setting)
      : generator_(network_as<Generator>(setting, "generator", "a generator")),
        shape_(setting.sample_shape),
        classes_(setting.classes),
        latent_(stream_of(setting, "gan/sample-latent")) {
    const auto discriminator =
        network_as<Discriminator>(setting, "discriminator", "a discriminator");
    for (const auto& [key, weight] : {std::pair("r1", penalties.r1), {"gp", penalties.gp}}) {
      if (weight == 0.0F || !discriminator->mixes_samples()) continue;
      throw Error(Code::kUsage,
                  std::string(key) +
                      ": the discriminator has batch norm, which is differentiable once and mixes "
                      "samples: no gradient penalty",
                  "set " + std::string(key) +
                      " = 0.0, or leave batch norm out: discriminator.norm = \"none\"");
    }
    phases_.push_back(std::make_unique<DiscriminatorPhase>(
        loss, penalties, setting, Fakes(setting, generator_, 0), discriminator));
    phases_.push_back(
        std::make_unique<GeneratorPhase>(loss, Fakes(setting, generator_, 1), discriminator));
  }

  Tensor sample(const SampleRange& range, const BeforePass& before) const override {
    const at::NoGradGuard no_gradients;
    generator_->prepare(false);
    return in_pieces(
        range, shape_, passes_per_sample(), before, [&](const SampleRange& some, const auto& pass) {
          pass();
          lane::Context context = lane::Context::evaluation(some.count);
          return generator_->forward(
              context, normals(latent_, some.first, some.count, {generator_->latent()}),
              condition_of(some, classes_), /*trained=*/false);
        });
  }
  std::int64_t passes_per_sample() const override { return 1; }

 private:
  std::shared_ptr<Generator> generator_;
  std::vector<std::int64_t> shape_;
  std::int64_t classes_;
  numerics::Stream latent_;
};

}  // namespace

std::unique_ptr<Objective> make_gan(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<GanOptions>();
  return std::make_unique<Gan>(kNonSaturating, Penalties{.r1 = static_cast<float>(o.r1)}, setting);
}

std::unique_ptr<Objective> make_hinge_gan(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<GanOptions>();
  return std::make_unique<Gan>(kHinge, Penalties{.r1 = static_cast<float>(o.r1)}, setting);
}

std::unique_ptr<Objective> make_wasserstein_gan(const Options& options, const Setting& setting) {
  const auto& o = options.kind.as<WassersteinGanOptions>();
  return std::make_unique<Gan>(kWasserstein, Penalties{.gp = static_cast<float>(o.gp)}, setting);
}

}  // namespace lockstep::objective
