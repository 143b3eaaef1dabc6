// Gradients of networks with classes, and that their bits do not depend on who computes them.
#include <cmath>
#include <functional>

#include "model/conditional.h"
#include "support/local_ranks.h"

namespace lockstep::model {
namespace {

using namespace testing;  // NOLINT

constexpr std::int64_t kLanes = 4, kEach = 2;
constexpr double kRelative = 0.02;  // see expect_gradients_agree_with_differences
const std::vector<std::int64_t> kLabels = {0, 2, 0, -1, 2, 2, 0, 0};  // nobody has class 1

// A number a sample that depends on all that the network gives: [N].
Tensor judged(Network& network, Context& context, const Tensor& x, const Tensor& condition) {
  const Tensor y = pass(network, context, x, condition);
  if (y.dim() == 1) return y;
  return ops::mean_squared_error(y, ops::filled(y.sizes(), 0.5F));
}

// And |dD/dx|^2 of each sample, from a forward pass of its own, as R1 has it: on its own it would
// not reach biases.
Tensor penalised(Network& network, Context& context, const Tensor& samples,
                 const Tensor& condition) {
  const Tensor value = judged(network, context, samples, condition);
  Tensor x = samples.detach().clone();
  x.set_requires_grad(true);
  const Tensor logits = pass(network, context, x, condition);
  const Tensor ones = ops::filled(logits.sizes(), 1.0F);
  return ops::add(value, ops::row_squares(ops::gradients({logits}, {ones}, {x},
                                                         /*create_graph=*/true)
                                              .front()));
}

using Loss = Tensor (*)(Network&, Context&, const Tensor&, const Tensor&);

// Of rank 0.
lane::PhaseGradients gradients(const std::string& kind, Loss loss, int world = 1, int threads = 1,
                               numerics::Isa isa = numerics::usual_isa()) {
  lane::PhaseGradients result;
  comm::run_local(world, [&](comm::Group& group) {
    numerics::Cpu cpu(threads, isa);
    const ops::DeviceScope here(cpu);
    const auto network = conditional(kind);
    network->prepare(/*trained=*/true);
    const lane::Plan plan({.lanes = kLanes, .samples_per_lane = kEach}, world);
    lane::Context context(plan, group);
    const std::int64_t first = plan.first_draw(group.rank()),
                       samples = plan.sample_count(group.rank());
    const Tensor x = input_of(*network, plan.batch()).narrow(0, first, samples),
                 y = one_hot(kLabels).narrow(0, first, samples);
    auto mine =
        lane::backward(context, ops::lane_sums(context.lanes(), loss(*network, context, x, y)),
                       1.0F / static_cast<float>(plan.batch()), parameters_of(*network));
    if (group.rank().value == 0) result = std::move(mine);
  });
  return result;
}

// The derivative along a random direction of each parameter by central differences. Tolerances, as
// in objective/rig.h: part of the gradient's norm, for curvature and the kinks of leaky ReLU, and
// the loss's rounding divided by 2h.
void expect_gradients_agree_with_differences(
    const std::string& kind, Loss loss, double h,
    const std::function<bool(const std::string& path)>& compared = [](auto&) { return true; }) {
  comm::run_local(1, [&](comm::Group& group) {
    const lane::Plan plan({.lanes = kLanes, .samples_per_lane = kEach}, 1);
    const auto network = conditional(kind);
    // Spectral norm's vectors settle first: with any others sigma may be next to zero.
    for (int i = 0; i < 30; ++i) network->prepare(/*trained=*/true);
    const Tensor x = input_of(*network, plan.batch()), y = one_hot(kLabels);
    const auto computed = [&](const auto& with) {
      lane::Context context(plan, group);
      return with(context, ops::lane_sums(context.lanes(), loss(*network, context, x, y)));
    };
    const auto parameters = network->parameters_in_order();
    const auto analytic = computed([&](Context& context, const Tensor& sums) {
      return lane::backward(context, sums, 1.0F, parameters_of(*network));
    });
    const auto value = [&] {
      network->prepare(/*trained=*/false);
      return computed([](Context&, const Tensor& sums) { return double{ops::value_of(sums)}; });
    };
    const double rounding = 2e-7 * (std::abs(value()) + 1.0) / h;
    for (std::size_t at = 0; at < parameters.size(); ++at) {
      if (!compared(parameters[at].path)) continue;
      Tensor p = parameters[at].tensor.detach();
      const Tensor start = p.clone(),
                   direction = normals(p.sizes(), 500 + static_cast<std::uint32_t>(at));
      double length = 0, expected = 0, norm = 0;
      for (std::int64_t i = 0; i < p.numel(); ++i) {
        const double d = ops::read(direction)[i], g = ops::read(analytic.gradients[at])[i];
        length += d * d;
        expected += d * g;
        norm += g * g;
      }
      const auto moved = [&](double distance) {
        for (std::int64_t i = 0; i < p.numel(); ++i)
          ops::write(p)[i] = static_cast<float>(ops::read(start)[i] + distance / std::sqrt(length) *
                                                                          ops::read(direction)[i]);
        const double there = value();
        p.copy_(start);
        return there;
      };
      EXPECT_NEAR((moved(h) - moved(-h)) / (2 * h), expected / std::sqrt(length),
                  kRelative * std::sqrt(norm / static_cast<double>(p.numel())) + rounding)
          << kind << " " << parameters[at].path << ", gradient norm " << std::sqrt(norm);
    }
  });
}

TEST(ConditionalGradients, AgreeWithFiniteDifferences) {
  for (const std::string& kind : kinds())
    expect_gradients_agree_with_differences(kind, &judged, kind == "unet" ? 1e-2 : 2e-3);
}

// The slope at the row is output's weight and the class's row, so a gradient penalty reaches both.
// Parameters before the row move kinks, where the slope jumps: no differences there.
TEST(ConditionalGradients, OfAGradientPenaltyAgreeWithFiniteDifferences) {
  for (const char* kind : {"mlp-discriminator", "sngan-discriminator"})
    expect_gradients_agree_with_differences(kind, &penalised, 2e-3, [](const std::string& path) {
      return path.starts_with("output.") || path.starts_with("classes.");
    });
}

TEST(ConditionalGradients, ReachTheRowsOfTheClassesThatSamplesHave) {
  for (const std::string& kind : kinds()) {
    if (kind.ends_with("discriminator") && kind != "dcgan-discriminator") continue;  // sigma: all
    const auto network = conditional(kind);
    const auto parameters = network->parameters_in_order();
    const auto at = static_cast<std::size_t>(
        std::ranges::find(parameters, "classes.weight", &NamedTensor::path) - parameters.begin());
    const Tensor g = gradients(kind, &judged).gradients[at];
    const Tensor zero = ops::filled({1, g.size(1)}, 0.0F);
    for (const std::int64_t k : {0, 1, 2})
      EXPECT_EQ(same_bits(g.narrow(0, k, 1), zero), k == 1) << kind << ", class " << k;
  }
}

void expect_same(const lane::PhaseGradients& a, const lane::PhaseGradients& b,
                 const std::string& what) {
  EXPECT_EQ(a.loss_sum(), b.loss_sum()) << what;
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    EXPECT_TRUE(same_bits(a.gradients[i], b.gradients[i])) << what << ", " << i;
}

TEST(ConditionalGradients, HaveTheSameBitsOnAnyRanksThreadsAndInstructionSets) {
  std::vector<std::pair<std::string, Loss>> cases = {{"mlp-discriminator", &penalised},
                                                     {"sngan-discriminator", &penalised}};
  for (const std::string& kind : kinds()) cases.emplace_back(kind, &judged);
  for (const auto& [kind, loss] : cases) {
    const auto one = gradients(kind, loss);
    for (const int world : {2, 3, 4})
      expect_same(one, gradients(kind, loss, world),
                  kind + ", " + std::to_string(world) + " ranks");
    expect_same(one, gradients(kind, loss, 1, 3), kind + ", threads");
    expect_same(one, gradients(kind, loss, 1, 1, numerics::Isa::kScalar), kind + ", scalar");
  }
}

}  // namespace
}  // namespace lockstep::model
