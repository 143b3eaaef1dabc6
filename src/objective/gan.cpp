// GANs, with R1 (Mescheder et al. 2018): r1/2 |dD/dx (real)|^2 for the discriminator. The losses:
//   gan (non-saturating logistic, Goodfellow et al. 2014)
//     discriminator: softplus(-D(real)) + softplus(D(fake))    generator: softplus(-D(fake))
//   hinge-gan (Lim & Ye 2017; Miyato et al. 2018)
//     discriminator: relu(1 - D(real)) + relu(1 + D(fake))     generator: -D(fake)
// The real and the fake batch are two forward passes: batch norm never mixes them.
#include "lockstep/data/stream.h"
#include "lockstep/ops/trace.h"
#include "objective/kinds.h"

namespace lockstep::objective {

namespace {

constexpr int kDiscriminator = 0, kGenerator = 1;  // phases, in the order of a step

class Gan : public Objective {
 public:
  Gan(const Options& options, std::int64_t seed, const std::vector<std::int64_t>& shape)
      : hinge_(options.kind == "hinge-gan"),
        r1_(static_cast<float>(options.r1)),
        shape_(shape),
        latent_(data::stream(static_cast<std::uint64_t>(seed), "gan/latent")),
        sample_latent_(data::stream(static_cast<std::uint64_t>(seed), "gan/sample-latent")) {}

  std::vector<std::string> roles() const override { return {"generator", "discriminator"}; }
  std::vector<Phase> phases() const override {
    return {{"discriminator", "discriminator", "generator"},
            {"generator", "generator", "generator"}};
  }
  std::string sampled_role() const override { return "generator"; }

  void check(const Networks& networks) const override;
  Tensor given(int phase, lane::Context& context, const Networks& networks,
               const Batch& batch) const override;
  Loss loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
            const Tensor& fake) const override;
  Tensor sample(const Networks& networks, std::int64_t first, std::int64_t count) const override;

 private:
  Loss discriminator_loss(lane::Context& context, model::Discriminator& discriminator,
                          const Batch& batch, const Tensor& fake) const;
  // Small where the discriminator gives logits of this sign (1: real, -1: fake).
  Tensor discriminator_term(const Tensor& logits, float sign) const;

  // Every phase draws latents of its own.
  Tensor latents(const model::Generator& generator, int phase, const Batch& batch) const {
    numerics::Stream stream = latent_;
    stream.micro = static_cast<std::uint32_t>(phase);
    const Tensor z = normals(stream, batch.first.value, batch.values.size(0), {generator.latent()});
    ops::show("latents", {}, {z});
    return z;
  }

  bool hinge_;
  float r1_;
  std::vector<std::int64_t> shape_;
  numerics::Stream latent_, sample_latent_;
};

model::Generator& generator_of(const Networks& networks) {
  return network_as<model::Generator>(networks, "generator", "a generator");
}

model::Discriminator& discriminator_of(const Networks& networks) {
  return network_as<model::Discriminator>(networks, "discriminator", "a discriminator");
}

void Gan::check(const Networks& networks) const {
  generator_of(networks);
  const auto& discriminator = discriminator_of(networks);
  if (r1_ > 0.0f && discriminator.mixes_samples()) {
    throw Error(Code::kUsage,
                "r1: the discriminator has batch norm, which is differentiable once and mixes "
                "samples: no gradient penalty",
                "set r1 = 0.0, or use a discriminator with spectral norm");
  }
}

Tensor Gan::given(int phase, lane::Context& context, const Networks& networks,
                  const Batch& batch) const {
  auto& generator = generator_of(networks);
  const bool trained = phase == kGenerator;
  const at::AutoGradMode with_graph(trained);
  return generator.forward(context, latents(generator, phase, batch), {}, trained);
}

Loss Gan::loss(int phase, lane::Context& context, const Networks& networks, const Batch& batch,
               const Tensor& fake) const {
  auto& discriminator = discriminator_of(networks);
  if (phase == kDiscriminator) return discriminator_loss(context, discriminator, batch, fake);
  LOCKSTEP_ASSERT(phase == kGenerator, std::to_string(phase));
  const Tensor wrong =
      ops::scale(discriminator.forward(context, fake, {}, /*trained=*/false), -1.0f);
  return {ops::lane_sums(context.lanes(), hinge_ ? wrong : ops::softplus(wrong)), {}};
}

// |dD/dx|^2 of each sample. A forward pass of its own: see lane::Context::enter.
Tensor squared_slope(lane::Context& context, model::Discriminator& discriminator,
                     const Tensor& samples) {
  Tensor x = samples.detach();
  x.set_requires_grad(true);
  const Tensor logits = discriminator.forward(context, x, {}, /*trained=*/false);
  // A sample's logit depends on that sample alone, so the gradient of their sum is each one's.
  const Tensor ones = ops::filled(logits.sizes(), 1.0f);
  return ops::row_squares(ops::gradients({logits}, {ones}, {x}, /*create_graph=*/true).front());
}

Tensor Gan::discriminator_term(const Tensor& logits, float sign) const {
  const Tensor wrong = ops::scale(logits, -sign);
  if (!hinge_) return ops::softplus(wrong);
  return ops::leaky_relu(ops::add(wrong, ops::filled(wrong.sizes(), 1.0f)), 0.0f);
}

Loss Gan::discriminator_loss(lane::Context& context, model::Discriminator& discriminator,
                             const Batch& batch, const Tensor& fake) const {
  const Tensor on_real = discriminator.forward(context, batch.values, {}, /*trained=*/true),
               on_fake = discriminator.forward(context, fake, {}, /*trained=*/true);
  Tensor loss = ops::add(discriminator_term(on_real, 1.0f), discriminator_term(on_fake, -1.0f));
  if (r1_ > 0.0f) {
    loss =
        ops::add(loss, ops::scale(squared_slope(context, discriminator, batch.values), 0.5f * r1_));
  }
  return {ops::lane_sums(context.lanes(), loss),
          {{ops::bare(on_real), true}, {ops::bare(on_fake), false}}};
}

Tensor Gan::sample(const Networks& networks, std::int64_t first, std::int64_t count) const {
  const at::NoGradGuard no_gradients;
  auto& generator = generator_of(networks);
  generator.prepare(false);
  return in_pieces(first, count, shape_, [&](std::int64_t from, std::int64_t n) {
    lane::Context context = lane::Context::evaluation(n);
    return generator.forward(context, normals(sample_latent_, from, n, {generator.latent()}), {},
                             /*trained=*/false);
  });
}

}  // namespace

std::unique_ptr<Objective> make_gan(const Options& options, std::int64_t seed,
                                    const std::vector<std::int64_t>& sample_shape) {
  return std::make_unique<Gan>(options, seed, sample_shape);
}

}  // namespace lockstep::objective
