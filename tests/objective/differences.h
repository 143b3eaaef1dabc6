// Gradients of a phase against finite differences.
#pragma once

#include "objective/rig.h"

namespace lockstep::objective::testing {

// Derivative of the loss along a random direction of each parameter tensor, by central differences
// with step h. The two parts of the tolerance: `relative` of the tensor's gradient norm over
// sqrt(n), the usual size of such a derivative (curvature, kinks of leaky ReLU), and the loss's
// float rounding divided by 2h.
inline void expect_gradients_agree_with_differences(const Case& c, int phase, double h,
                                                    double relative) {
  comm::run_local(1, [&](comm::Group& group) {
    const Networks networks = c.make_networks();
    const auto objective = c.bound(networks);
    const Phase& one = c.phase_of(*objective, phase);
    const lane::Plan plan({.lanes = Case::kLanes, .samples_per_lane = c.samples_per_lane}, 1);
    const Batch batch = c.batch(plan, Rank(0));
    const auto& trained = network_of(networks, c.names(phase).role);
    const auto seed = 1.0F / static_cast<float>(plan.batch());

    // Spectral norm's vectors settle first: with any others sigma may be next to zero.
    for (int i = 0; i < 30; ++i) {
      for (const Role& role : networks) role.network->prepare(true);
    }
    prepare(c.options, networks, phase);
    lane::PhaseGradients analytic;
    {
      lane::Context context(plan, group);
      analytic = lane::backward(context, loss_at_once(one, context, batch).sums, seed,
                                parameters_of(trained));
    }
    // Spectral norm's vectors are constants of the gradient: prepare without an iteration. The
    // discriminator phase needs gradients inside its loss, so that of values stays on.
    const auto loss = [&] {
      for (const Role& role : networks) role.network->prepare(false);
      lane::Context context(plan, group);
      return static_cast<double>(*ops::read(loss_at_once(one, context, batch).sums)) *
             static_cast<double>(seed);
    };
    const double rounding = 1e-7 * (std::abs(loss()) + 1.0) / h;
    std::uint32_t key = 500;
    std::size_t at = 0;
    for (const model::NamedTensor& p : trained.parameters_in_order()) {
      const Tensor& gradient = analytic.gradients[at++];
      const Tensor direction = normals(p.tensor.sizes(), key++);
      const std::int64_t n = p.tensor.numel();
      double length = 0, expected = 0, norm = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double d = ops::read(direction)[i], g = ops::read(gradient)[i];
        length += d * d;
        expected += d * g;
        norm += g * g;
      }
      length = std::sqrt(length);
      expected /= length;
      const Tensor start = p.tensor.detach().clone();
      Tensor values = p.tensor.detach();
      const auto moved = [&](double distance) {
        for (std::int64_t i = 0; i < n; ++i) {
          ops::write(values)[i] =
              static_cast<float>(ops::read(start)[i] + distance / length * ops::read(direction)[i]);
        }
        const double value = loss();
        values.copy_(start);
        return value;
      };
      const double measured = (moved(h) - moved(-h)) / (2 * h);
      EXPECT_NEAR(measured, expected,
                  relative * std::sqrt(norm / static_cast<double>(n)) + rounding)
          << p.path << ", gradient norm " << std::sqrt(norm);
    }
  });
}

}  // namespace lockstep::objective::testing
