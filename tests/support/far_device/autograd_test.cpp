// Backward passes over far tensors run in a thread of the device, as on a GPU.
#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <future>
#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/record.h"
#include "lockstep/ops/where.h"
#include "support/far_device/device.h"
#include "support/far_device/memory.h"

namespace lockstep::testing::far {
namespace {

using at::Tensor;
using torch::autograd::variable_list;

Tensor far_tensor(at::IntArrayRef sizes, float value) {
  Tensor x = empty(sizes);
  std::fill_n(near(x.mutable_data_ptr<float>()), x.numel(), value);
  return x;
}

// A kernel of the device.
Tensor times(const Tensor& x, float factor) {
  Tensor y = far_tensor(x.sizes(), 0);
  for (std::int64_t i = 0; i < x.numel(); ++i)
    near(y.mutable_data_ptr<float>())[i] = near(x.const_data_ptr<float>())[i] * factor;
  return y;
}

class FarAutograd : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "NOT PROVED: LibTorch hands nodes to the thread by a queue that the sanitizer "
                    "does not see";
#endif
  }
};

struct Ran {
  std::thread::id thread;
  ops::Where where;
};
std::vector<Ran> ran;

void note() {
  ran.push_back({std::this_thread::get_id(), ops::where()});
}

struct Double : torch::autograd::Function<Double> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return times(x, 2); }
  static variable_list backward(torch::autograd::AutogradContext*, variable_list grads) {
    note();
    return {times(grads[0], 2)};
  }
};

TEST_F(FarAutograd, RunsNodesInAThreadOfTheDevice) {
  ran.clear();
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor y = Double::apply(Double::apply(x));
  const Tensor dx = torch::autograd::grad({y}, {x}, {far_tensor({3}, 5)})[0];
  EXPECT_EQ(dx.device(), device());
  EXPECT_EQ(dx.cpu()[2].item<float>(), 20);
  ASSERT_EQ(ran.size(), 2U);
  EXPECT_NE(ran[0].thread, std::this_thread::get_id());
  EXPECT_EQ(ran[0].thread, ran[1].thread);
}

// Views and copies whose gradients are views and copies. (Those of slices need zeros: refused.)
TEST_F(FarAutograd, MovesGradientsThroughViews) {
  const Tensor x = far_tensor({2, 3}, 1).requires_grad_(true);
  const Tensor y = Double::apply(x.t().contiguous().view({6}));
  const Tensor dx = torch::autograd::grad({y}, {x}, {far_tensor({6}, 1)})[0];
  EXPECT_EQ(dx.sizes(), x.sizes());
  EXPECT_EQ(dx.cpu()[1][2].item<float>(), 2);
}

ops::Tensor recorded(const Tensor& x) {
  return ops::record("double", {x}, times(x, 2), ops::Differentiable::kTwice,
                     [](const Tensor& grad, const std::vector<bool>&) -> ops::Tensors {
                       note();
                       return {recorded(grad)};
                     });
}

TEST_F(FarAutograd, KnowsThePlaceOfRecordedOpsThere) {
  ran.clear();
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  Tensor y;
  {
    const ops::Scope scope("model/hidden");
    y = recorded(x);
  }
  const Tensor dx = ops::gradients({y}, {far_tensor({3}, 5)}, {x}, false)[0];
  EXPECT_EQ(dx.cpu()[2].item<float>(), 10);
  ASSERT_EQ(ran.size(), 1U);
  EXPECT_NE(ran[0].thread, std::this_thread::get_id());
  EXPECT_EQ(ops::to_text(ran[0].where), "model/hidden, backward of double");
}

TEST_F(FarAutograd, DifferentiatesTwice) {
  ran.clear();
  const Tensor g = far_tensor({3}, 5).requires_grad_(true);
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor dx = ops::gradients({recorded(x)}, {g}, {x}, true)[0];
  const Tensor dg = ops::gradients({dx}, {far_tensor({3}, 1)}, {g}, false)[0];
  EXPECT_EQ(dg.cpu()[0].item<float>(), 2);
  ASSERT_EQ(ran.size(), 2U);
  EXPECT_EQ(ran[0].thread, ran[1].thread);
}

// A gradient penalty inside a backward function: the engine is called from the device's thread.
TEST_F(FarAutograd, RunsABackwardPassInsideAnother) {
  ran.clear();
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor y = ops::record(
      "nested", {x}, times(x, 2), ops::Differentiable::kOnce,
      [](const Tensor& grad, const std::vector<bool>&) -> ops::Tensors {
        const at::AutoGradMode graph(true);
        const Tensor inner = grad.detach().requires_grad_(true);
        return {ops::gradients({recorded(inner)}, {far_tensor({3}, 1)}, {inner}, false)[0]};
      });
  const Tensor dx = ops::gradients({y}, {far_tensor({3}, 5)}, {x}, false)[0];
  EXPECT_EQ(dx.cpu()[0].item<float>(), 2);
  ASSERT_EQ(ran.size(), 1U);
  EXPECT_NE(ran[0].thread, std::this_thread::get_id());
}

Tensor with_backward(const Tensor& x, ops::Backward backward) {
  const ops::Scope scope("model/hidden");
  return ops::record("double", {x}, times(x, 2), ops::Differentiable::kOnce, std::move(backward));
}

TEST_F(FarAutograd, HandsErrorsToWhoeverAsked) {
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor y = with_backward(x, [](const Tensor&, const std::vector<bool>&) -> ops::Tensors {
    throw Error(Code::kDiverged, "planted");
  });
  try {
    ops::gradients({y}, {far_tensor({3}, 1)}, {x}, false);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDiverged);
    EXPECT_EQ(error.message(), "planted");
  }
}

TEST_F(FarAutograd, CannotAddGradients) {
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor a = recorded(x), b = recorded(x);
  try {
    ops::gradients({a, b}, {far_tensor({3}, 1), far_tensor({3}, 1)}, {x}, false);
    ADD_FAILURE() << "without a fork the engine adds";
  } catch (const c10::NotImplementedError& error) {
    EXPECT_THAT(error.what_without_backtrace(), ::testing::HasSubstr("aten::add"));
  }
}

// The guard of the thread that asked, and no other, hears of LibTorch's arithmetic in the device's.
TEST_F(FarAutograd, TellsTheGuardOfWhoeverAsked) {
  std::promise<void> alive, asked, checked;
  std::thread other([&] {
    const ops::Guard others("step 8");
    alive.set_value();
    asked.get_future().wait();
    EXPECT_NO_THROW(others.check());
    checked.set_value();
  });
  alive.get_future().wait();
  const ops::Guard guard("step 7");
  const Tensor x = far_tensor({3}, 1).requires_grad_(true);
  const Tensor y = with_backward(x, [](const Tensor& grad, const std::vector<bool>&) {
    static_cast<void>(at::add(at::empty({1}), 1));
    return ops::Tensors{times(grad, 2)};
  });
  ops::gradients({y}, {far_tensor({3}, 1)}, {x}, false);
  asked.set_value();
  checked.get_future().wait();
  other.join();
  try {
    guard.check();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("step 7: aten::add ran in model/hidden, backward of double"));
  }
}

// Ranks as threads share the device's thread: each gets its own gradients.
TEST_F(FarAutograd, ServesManyThreads) {
  std::vector<float> found(8);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < found.size(); ++t) {
    threads.emplace_back([&found, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = far_tensor({3}, 1).requires_grad_(true);
        const Tensor y =
            ops::record("scaled", {x}, times(x, 2), ops::Differentiable::kOnce,
                        [t](const Tensor& grad, const std::vector<bool>&) -> ops::Tensors {
                          return {times(grad, static_cast<float>(t))};
                        });
        found[t] += ops::gradients({y}, {far_tensor({3}, 1)}, {x}, false)[0].cpu()[1].item<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) EXPECT_EQ(found[t], 50.0F * static_cast<float>(t));
}

}  // namespace
}  // namespace lockstep::testing::far
