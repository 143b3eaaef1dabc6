#include "lockstep/objective/objective.h"

#include "lockstep/ops/device.h"
#include "objective/kinds.h"

namespace lockstep::objective {

model::Network& network_of(const Networks& networks, const std::string& role) {
  for (const Role& candidate : networks) {
    if (candidate.name == role) return *candidate.network;
  }
  throw Error(Code::kBug, "no network has the role '" + role + "'");
}

std::vector<std::int64_t> batch_sizes(std::int64_t n, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> sizes = {n};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

Tensor normals(const numerics::Stream& stream, std::int64_t first, std::int64_t n,
               const std::vector<std::int64_t>& shape) {
  Tensor drawn = ops::empty(batch_sizes(n, shape));
  const std::int64_t each = n == 0 ? 0 : drawn.numel() / n;
  ops::device().fill_normal(stream, static_cast<std::uint64_t>(first), n, each, ops::write(drawn));
  return drawn;
}

Judged counted(const std::vector<Judgements>& judgements) {
  Judged judged;
  for (const Judgements& one : judgements) {
    const ops::HostView logits(one.logits);
    const float sign = one.real ? 1.0F : -1.0F;
    judged.right +=
        std::ranges::count_if(logits.floats(), [sign](float logit) { return sign * logit > 0.0F; });
    judged.all += one.logits.numel();
  }
  return judged;
}

Loss loss_at_once(const Objective& objective, int phase, lane::Context& context,
                  const Networks& networks, const Batch& batch) {
  return objective.loss(phase, context, networks, batch,
                        objective.given(phase, context, networks, batch));
}

std::unique_ptr<Objective> make_objective(const Options& options, std::int64_t seed,
                                          const std::vector<std::int64_t>& sample_shape) {
  if (options.kind == "ddpm") return make_ddpm(options, seed, sample_shape);
  if (options.kind == "gan" || options.kind == "hinge-gan")
    return make_gan(options, seed, sample_shape);
  throw Error(Code::kUsage, "kind: there is no objective '" + options.kind + "'",
              "use ddpm, gan or hinge-gan");
}

}  // namespace lockstep::objective
