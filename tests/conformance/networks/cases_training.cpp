// Parts of a training step that are more than one operation of numerics.
#include <string>

#include "conformance/networks/tensors.h"
#include "lockstep/lane/batch_norm.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/ops.h"
#include "lockstep/optim/adamw.h"
#include "lockstep/optim/learning_rate.h"
#include "lockstep/optim/lion.h"
#include "lockstep/optim/optimizer.h"
#include "lockstep/optim/schedules.h"
#include "lockstep/optim/sgd.h"
#include "support/local_ranks.h"

namespace lockstep::conformance {
namespace {

constexpr float kEps = 0x1.4f8b58p-17f, kMomentum = 0x1.99999ap-4f;  // 1e-5, 0.1

Shape shape_of(const Tensor& x) {
  return x.sizes().vec();
}

struct Matrix {
  const char* what;
  Shape shape;
  bool small = false;  // its products are near what keeps from dividing by zero
};

Tensor weights(Case& c, const Matrix& m) {
  if (!m.small) return input(c, "w", Make::kWide, m.shape);
  return literal(c, "w", {0x1p-40F, 0x3p-41F, -0x1p-42F, 0x5p-40F, -0x7p-41F, 0x1p-39F}, m.shape);
}

void add_spectral_norm(Json& cases, const Matrix& m) {
  const std::int64_t cols = m.shape.back(), rows = count(m.shape) / cols;
  {
    Case c(cases, "power_iteration", m.what);
    const Tensor w = weights(c, m);
    Tensor u = input(c, "u", Make::kUnit, {rows}), v = ops::empty({cols});
    ops::power_iteration(w, u, v);
    output(c, "u", u);
    output(c, "v", v);
  }
  Case c(cases, "spectral_norm", m.what);
  const Tensor w = weights(c, m).requires_grad_(true);
  const Tensor u = input(c, "u", Make::kUnit, {rows}), v = input(c, "v", Make::kUnit, {cols});
  const Tensor y = ops::spectral_normalize(w, u, v);
  const Tensor dy = input(c, "dy", Make::kUnit, m.shape);
  output(c, "y", y);
  output(c, "dw", ops::gradients({y}, {dy}, {w}, /*create_graph=*/false).front());
}

struct Batch {
  const char* what;
  lane::Options lanes;
  std::int64_t rows, channels;  // rows a sample
  bool equal_rows = false;      // no variance
};

lane::BatchNormState running(Case& c, std::int64_t channels) {
  lane::BatchNormState state;
  state.running_mean = input(c, "running_mean", Make::kUnit, {channels});
  state.running_var = input(c, "running_var", Make::kPositive, {channels});
  return state;
}

Tensor rows_of(Case& c, const Batch& b) {
  const std::int64_t samples = b.lanes.lanes * b.lanes.samples_per_lane;
  const Shape shape = {samples, b.rows, b.channels};
  if (!b.equal_rows) return input(c, "x", Make::kWide, shape);
  Floats values;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    values.push_back(1.0F + static_cast<float>(i % b.channels));
  }
  return literal(c, "x", values, shape);
}

void add_batch_norm(Json& cases, const Batch& b) {
  {
    Case c(cases, "batch_norm_training", b.what);
    c.parameter("samples_per_lane", b.lanes.samples_per_lane);
    lane::BatchNormState state = running(c, b.channels);
    state.momentum = c.parameter("momentum", kMomentum);
    state.eps = c.parameter("eps", kEps);
    const Tensor x = rows_of(c, b).requires_grad_(true);
    const Tensor gamma = input(c, "gamma", Make::kUnit, {b.channels}).requires_grad_(true);
    const Tensor beta = input(c, "beta", Make::kUnit, {b.channels}).requires_grad_(true);
    const Tensor dy = input(c, "dy", Make::kSparse, shape_of(x));
    const lane::Plan plan(b.lanes, 1);
    comm::run_local(1, [&](comm::Group& group) {
      lane::Context context(plan, group);
      const Tensor entered_gamma = context.enter(gamma), entered_beta = context.enter(beta);
      const Tensor y =
          lane::batch_norm(context, x, entered_gamma, entered_beta, state, /*track=*/true);
      output(c, "y", y);
      ops::Tensors of_uses(2);
      context.on_partials(
          [&](std::size_t use, const Tensor& partials) { of_uses[use] = partials; });
      const ops::Tensors gradients =
          ops::gradients({y}, {dy}, {x, entered_gamma, entered_beta}, /*create_graph=*/false);
      output(c, "dx", gradients[0]);
      output(c, "dgamma", of_uses[0]);
      output(c, "dbeta", of_uses[1]);
    });
    output(c, "running_mean", state.running_mean);
    output(c, "running_var", state.running_var);
  }
  Case c(cases, "batch_norm_evaluation", b.what);
  lane::BatchNormState state = running(c, b.channels);
  state.eps = c.parameter("eps", kEps);
  const Tensor x = rows_of(c, b);
  const Tensor gamma = input(c, "gamma", Make::kUnit, {b.channels});
  const Tensor beta = input(c, "beta", Make::kUnit, {b.channels});
  lane::Context context = lane::Context::evaluation(x.size(0));
  output(c, "y",
         lane::batch_norm(context, x, context.enter(gamma), context.enter(beta), state, false));
}

void clip(Case& c, float length, std::vector<Tensor> gradients) {
  const float limit = c.parameter("length", length);
  const Tensor squares = optim::tile_squares(gradients);
  optim::clip_by_global_norm(limit, squares, gradients);
  output(c, "squares", squares);
  c.output("norm", Floats{numerics::norm_of(ops::HostView(squares).floats())});
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    output(c, "g" + std::to_string(i), gradients[i]);
  }
}

void add_clipping(Json& cases) {
  struct Length {
    const char* what;
    float length;
  };
  for (const Length& l : {Length{"seven tiles, longer", 3.0F}, Length{"seven tiles, shorter", 1e9F},
                          Length{"seven tiles, no clipping", 0.0F}}) {
    Case c(cases, "clipping", l.what);
    clip(c, l.length,
         {input(c, "g0", Make::kWide, {3, 4097}), input(c, "g1", Make::kUnit, {0}),
          input(c, "g2", Make::kSparse, {7}), input(c, "g3", Make::kWide, {2, 4, 512}),
          input(c, "g4", Make::kWide, {1})});
  }
  {
    Case c(cases, "clipping", "an infinite norm");
    clip(c, 1.0F, {literal(c, "g0", {3e38F, -3e38F, 1.0F}, {3})});
  }
  Case c(cases, "clipping", "not a number");
  const auto n = static_cast<std::int64_t>(specials().size());
  clip(c, 1.0F, {input(c, "g0", Make::kSpecials, {n})});
}

// Three updates with a schedule: the scalars of each.
void add_updates(Json& cases, const char* kind) {
  Case c(cases, "updates", kind);
  optim::Options o;
  o.kind = c.parameter("kind", kind);
  o.lr = c.parameter("lr", 2e-3);
  o.weight_decay = c.parameter("weight_decay", 1e-2);
  if (o.kind == "adamw") {
    auto& own = o.kind.as<optim::AdamWOptions>();
    own.beta1 = c.parameter("beta1", 0.9);
    own.beta2 = c.parameter("beta2", 0.999);
    own.eps = c.parameter("eps", 1e-8);
  } else if (o.kind == "lion") {
    auto& own = o.kind.as<optim::LionOptions>();
    own.beta1 = c.parameter("beta1", 0.9);
    own.beta2 = c.parameter("beta2", 0.99);
  } else {
    o.kind.as<optim::SgdOptions>().momentum = c.parameter("momentum", 0.9);
  }
  o.schedule = c.parameter("schedule", "cosine");
  o.warmup = c.parameter("warmup", std::int64_t{2});
  o.schedule.as<optim::HorizonOptions>().horizon = c.parameter("horizon", std::int64_t{9});
  const Tensor p = input(c, "p", Make::kUnit, {61});
  const auto optimizer = optim::make_optimizer(o, {p});
  for (std::int64_t t = 1; t <= 3; ++t) {
    const Tensor g = input(c, "g" + std::to_string(t), Make::kUnit, {61});
    ops::device().update(optimizer->rule(t, optim::learning_rate(o, t), o.weight_decay),
                         optimizer->tensors({p}, {g}));
  }
  output(c, "p", p);
  for (std::size_t i = 0; i < optimizer->slots().size(); ++i) {
    output(c, optimizer->slot_names()[i], optimizer->slots()[i].front());
  }
}

void add_mean_squared_error(Json& cases) {
  Case c(cases, "mean_squared_error", "3 x 4 x 5 x 30");
  const Shape shape = {3, 4, 5, 30};
  const Tensor x = input(c, "x", Make::kUnit, shape).requires_grad_(true);
  const Tensor loss = ops::mean_squared_error(x, input(c, "target", Make::kUnit, shape));
  output(c, "loss", loss);
  const Tensor dloss = input(c, "dloss", Make::kUnit, {3});
  output(c, "dx", ops::gradients({loss}, {dloss}, {x}, /*create_graph=*/false).front());
}

}  // namespace

void add_training_cases(Json& cases) {
  for (const Matrix& m :
       {Matrix{"5 x 3", {5, 3}}, Matrix{"600 x 2", {600, 2}}, Matrix{"2 x 600", {2, 600}},
        Matrix{"7 x 1", {7, 1}}, Matrix{"a convolution of 3 x 3, 4 to 5", {3, 3, 4, 5}},
        Matrix{"2 x 3, small values", {2, 3}, true}}) {
    add_spectral_norm(cases, m);
  }
  for (const Batch& b :
       {Batch{"1 lane of 2 x 1 x 3", {1, 2}, 1, 3}, Batch{"5 lanes of 2 x 3 x 19", {5, 2}, 3, 19},
        Batch{"3 lanes of 3 x 200 x 2", {3, 3}, 200, 2},
        Batch{"2 lanes of equal rows", {2, 2}, 2, 3, true}}) {
    add_batch_norm(cases, b);
  }
  add_clipping(cases);
  for (const char* const kind : {"adamw", "sgd", "lion"}) add_updates(cases, kind);
  add_mean_squared_error(cases);
}

}  // namespace lockstep::conformance
