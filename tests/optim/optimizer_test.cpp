#include "lockstep/optim/optimizer.h"

#include <gtest/gtest.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/ops/device.h"
#include "lockstep/optim/adamw.h"
#include "lockstep/optim/lion.h"
#include "lockstep/optim/sgd.h"

namespace lockstep::optim {
namespace {

using at::Tensor;

Tensor normals(std::int64_t n, std::uint32_t key) {
  Tensor x = at::empty({n}, at::kFloat);
  ops::device().fill_normal({.key = {key, 1}, .micro = 0}, 0, 1, n, x.mutable_data_ptr<float>());
  return x;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() &&
         std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

Options options_of(const std::string& kind) {
  Options o;
  o.kind = kind;
  o.lr = 0.01;
  o.weight_decay = 0.1;
  return o;
}

constexpr int kUpdates = 25;
constexpr std::int64_t kSize = 5000;  // more than a tile

// Ours after kUpdates; gradient number t is normals(kSize, t).
std::vector<Tensor> train(const Options& options) {
  const std::vector<Tensor> parameters = {normals(kSize, 1000)};
  const auto optimizer = make_optimizer(options, parameters);
  for (int t = 1; t <= kUpdates; ++t) {
    const std::vector<Tensor> gradients = {normals(kSize, static_cast<std::uint32_t>(t))};
    ops::device().update(optimizer->rule(t, options.lr, options.weight_decay),
                         optimizer->tensors(parameters, gradients));
  }
  std::vector<Tensor> state = parameters;
  for (const auto& slot : optimizer->slots()) state.push_back(slot.front());
  return state;
}

Tensor train_in_torch(torch::optim::Optimizer& optimizer, Tensor& parameter) {
  for (int t = 1; t <= kUpdates; ++t) {
    parameter.mutable_grad() = normals(kSize, static_cast<std::uint32_t>(t));
    optimizer.step();
  }
  return parameter.detach();
}

// Two correct float implementations part by some roundings an update: kUpdates * 4 ulp of
// parameters of size up to 4.
void expect_close(const Tensor& a, const Tensor& b) {
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    ASSERT_NEAR(a.const_data_ptr<float>()[i], b.const_data_ptr<float>()[i], 2e-5) << i;
  }
}

TEST(AdamW, FollowsTheOneOfPyTorch) {
  const Options o = options_of("adamw");
  const auto& own = o.kind.as<AdamWOptions>();
  Tensor p = normals(kSize, 1000).set_requires_grad(true);
  torch::optim::AdamW reference({p}, torch::optim::AdamWOptions(o.lr)
                                         .betas({own.beta1, own.beta2})
                                         .eps(own.eps)
                                         .weight_decay(o.weight_decay));
  expect_close(train(o)[0], train_in_torch(reference, p));
}

TEST(Sgd, FollowsTheOneOfPyTorch) {
  const Options o = options_of("sgd");
  Tensor p = normals(kSize, 1000).set_requires_grad(true);
  torch::optim::SGD reference({p}, torch::optim::SGDOptions(o.lr)
                                       .momentum(o.kind.as<SgdOptions>().momentum)
                                       .weight_decay(o.weight_decay));
  expect_close(train(o)[0], train_in_torch(reference, p));
}

TEST(Sgd, WithNesterovsMomentumFollowsTheOneOfPyTorch) {
  Options o = options_of("sgd");
  o.kind.as<SgdOptions>().nesterov = true;
  Tensor p = normals(kSize, 1000).set_requires_grad(true);
  torch::optim::SGD reference({p}, torch::optim::SGDOptions(o.lr)
                                       .momentum(o.kind.as<SgdOptions>().momentum)
                                       .weight_decay(o.weight_decay)
                                       .nesterov(true));
  expect_close(train(o)[0], train_in_torch(reference, p));
}

TEST(Optimizers, DecayMatricesAlone) {
  Options o = options_of("adamw");
  const Tensor vector = normals(6, 1), matrix = vector.view({2, 3});
  EXPECT_EQ(weight_decay_of(o, vector), 0.1);
  EXPECT_EQ(weight_decay_of(o, matrix), 0.1);
  o.decay = "matrices";
  EXPECT_EQ(weight_decay_of(o, vector), 0.0);
  EXPECT_EQ(weight_decay_of(o, matrix), 0.1);
}

// The paper's formulas in double: what is left is the rounding of floats.
TEST(AdamW, FollowsTheFormulasInDouble) {
  const Options o = options_of("adamw");
  const auto& own = o.kind.as<AdamWOptions>();
  const std::vector<Tensor> ours = train(o);
  const Tensor start = normals(kSize, 1000);
  for (std::int64_t i = 0; i < 64; ++i) {
    double p = start.const_data_ptr<float>()[i], m = 0, v = 0, bias1 = 1, bias2 = 1;
    for (int t = 1; t <= kUpdates; ++t) {
      const double g = normals(64, static_cast<std::uint32_t>(t)).const_data_ptr<float>()[i];
      bias1 *= own.beta1;
      bias2 *= own.beta2;
      m = own.beta1 * m + (1 - own.beta1) * g;
      v = own.beta2 * v + (1 - own.beta2) * g * g;
      p -= o.lr * o.weight_decay * p;
      p -= o.lr * (m / (1 - bias1)) / (__builtin_sqrt(v / (1 - bias2)) + own.eps);
    }
    EXPECT_NEAR(ours[0].const_data_ptr<float>()[i], p, 5e-6);
    EXPECT_NEAR(ours[1].const_data_ptr<float>()[i], m, 5e-7);
    EXPECT_NEAR(ours[2].const_data_ptr<float>()[i], v, 5e-8);
  }
}

// The paper's formulas in double. Where the direction is next to zero its sign is the rounding's,
// and the parameter parts by two lr: such elements are left out.
TEST(Lion, FollowsTheFormulasInDouble) {
  const Options o = options_of("lion");
  const auto& own = o.kind.as<LionOptions>();
  const std::vector<Tensor> ours = train(o);
  const Tensor start = normals(kSize, 1000);
  int compared = 0;
  for (std::int64_t i = 0; i < 64; ++i) {
    double p = start.const_data_ptr<float>()[i], m = 0, least = 1;
    for (int t = 1; t <= kUpdates; ++t) {
      const double g = normals(64, static_cast<std::uint32_t>(t)).const_data_ptr<float>()[i];
      const double u = own.beta1 * m + (1 - own.beta1) * g;
      least = std::min(least, std::abs(u));
      p -= o.lr * (o.weight_decay * p + (u > 0 ? 1 : -1));
      m = own.beta2 * m + (1 - own.beta2) * g;
    }
    EXPECT_NEAR(ours[1].const_data_ptr<float>()[i], m, 5e-7);
    if (least < 1e-6) continue;
    EXPECT_NEAR(ours[0].const_data_ptr<float>()[i], p, 2e-5);  // 2 lr^2 weight_decay, and roundings
    ++compared;
  }
  EXPECT_GT(compared, 32);
}

TEST(Optimizers, GiveTheSameBitsForAnyNumberOfThreads) {
  for (const char* kind : {"adamw", "sgd", "lion"}) {
    const std::vector<Tensor> one = train(options_of(kind));
    numerics::Cpu cpu(3);
    const ops::DeviceScope here(cpu);
    const std::vector<Tensor> three = train(options_of(kind));
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(one[i], three[i])) << kind;
  }
}

TEST(Optimizers, StartWithZeroSlotsOneTensorAParameterAndName) {
  const std::vector<Tensor> parameters = {normals(3, 1), normals(7, 2)};
  for (const char* kind : {"adamw", "sgd", "lion"}) {
    const auto optimizer = make_optimizer(options_of(kind), parameters);
    ASSERT_EQ(optimizer->slots().size(), optimizer->slot_names().size());
    for (const auto& slot : optimizer->slots()) {
      ASSERT_EQ(slot.size(), parameters.size());
      for (std::size_t p = 0; p < slot.size(); ++p) {
        ASSERT_EQ(slot[p].sizes(), parameters[p].sizes());
        for (std::int64_t i = 0; i < slot[p].numel(); ++i) {
          EXPECT_EQ(slot[p].const_data_ptr<float>()[i], 0.0F);
        }
      }
    }
  }
}

TEST(Optimizers, AnUnknownKindIsAUsageError) {
  try {
    make_optimizer(options_of("adagrad"), {});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::kUsage);
  }
}

}  // namespace
}  // namespace lockstep::optim
