// Backward functions in a thread that did not record them, as those of devices other than the CPU
// are called.
#include <ATen/ops/add.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <utility>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/guard.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "lockstep/ops/trace.h"

namespace lockstep::ops {
namespace {

using ::testing::HasSubstr;

struct Seen {
  std::string module;
  bool native = false;
  int threads = 0;
  bool operator==(const Seen&) const = default;
};

Seen seen_here() {
  return {where().module, numerics_in_use().native, device().host().threads()};
}

Tensor leaf() {
  Tensor x = filled({2}, 1.0F);
  x.requires_grad_(true);
  return x;
}

// 2x, by a function that does `during` on its way back.
Tensor doubled(const Tensor& x, std::function<void()> during) {
  return record("double", {x}, filled(x.sizes(), 2.0F), Differentiable::kTwice,
                [during = std::move(during)](const Tensor& g, const std::vector<bool>&) -> Tensors {
                  during();
                  return {scale(g, 2.0F)};
                });
}

void elsewhere(const std::function<void()>& body) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

class Surroundings : public ::testing::Test {
 protected:
  numerics::Cpu three_{3};
  const DeviceScope here_{three_};
};

TEST_F(Surroundings, TravelWithWhatWasRecorded) {
  Seen during, after;
  std::vector<std::string> shown;
  {
    const NumericsScope native({true, 1});
    const Scope module("model/a");
    const TraceScope trace([&](const std::string& op, at::TensorList, at::TensorList) {
      shown.push_back(op + " in " + to_text(where()));
    });
    const Tensor x = leaf(), y = doubled(x, [&] { during = seen_here(); });
    shown.clear();
    elsewhere([&] {
      gradients({y}, {filled({2}, 1.0F)}, {x}, /*create_graph=*/false);
      after = seen_here();
    });
  }
  EXPECT_EQ(during, (Seen{"model/a", true, 3}));
  EXPECT_EQ(after, (Seen{"", false, 1}));  // the other thread's own again
  EXPECT_THAT(shown, ::testing::ElementsAre("scale in model/a, backward of double",
                                            "double in model/a, backward of double"));
}

// A listener of forward passes alone (train/activations.h), arithmetic of an inner scope.
TEST_F(Surroundings, OfTheForwardPassAreGoneInTheBackwardPass) {
  Seen during;
  int heard = 0;
  Tensor x = leaf(), y;
  {
    const NumericsScope native({true, 1});
    const TraceScope trace([&](const auto&, at::TensorList, at::TensorList) { ++heard; });
    y = doubled(x, [&] { during = seen_here(); });
  }
  EXPECT_EQ(std::exchange(heard, 0), 1);
  elsewhere([&] { gradients({y}, {filled({2}, 1.0F)}, {x}, /*create_graph=*/false); });
  EXPECT_EQ(heard, 0);
  EXPECT_EQ(during, (Seen{"", false, 3}));
}

TEST_F(Surroundings, AreThoseOfTheFirstForGradientsOfGradients) {
  Seen during;
  const NumericsScope native({true, 1});
  const Scope module("model/a");
  const Tensor x = leaf();
  elsewhere([&] {
    const Tensor one = leaf();
    // Recorded in the other thread's backward pass, and differentiated there again.
    const Tensor y = record("outer", {x}, filled({2}, 1.0F), Differentiable::kTwice,
                            [&](const Tensor& g, const std::vector<bool>&) -> Tensors {
                              return {doubled(g, [&] { during = seen_here(); })};
                            });
    const Tensor dx = gradients({y}, {one}, {x}, /*create_graph=*/true).front();
    gradients({dx}, {filled({2}, 1.0F)}, {one}, /*create_graph=*/false);
  });
  EXPECT_EQ(during.native, false);  // `outer` was recorded in that thread
  const Tensor one = leaf();
  const Tensor y = record("outer", {x}, filled({2}, 1.0F), Differentiable::kTwice,
                          [&](const Tensor& g, const std::vector<bool>&) -> Tensors {
                            return {doubled(g, [&] { during = seen_here(); })};
                          });
  elsewhere([&] {
    const Tensor dx = gradients({y}, {one}, {x}, /*create_graph=*/true).front();
    gradients({dx}, {filled({2}, 1.0F)}, {one}, /*create_graph=*/false);
  });
  EXPECT_EQ(during, (Seen{"model/a", true, 3}));
}

TEST_F(Surroundings, LetTheGuardSeeWhatRanElsewhere) {
  try {
    guarded("step 1", [] {
      const Scope module("model/a");
      const Tensor x = leaf(), y = doubled(x, [] {
                                 const Tensor two = filled({2}, 2.0F);
                                 at::add(two, two);
                               });
      elsewhere([&] { gradients({y}, {filled({2}, 1.0F)}, {x}, /*create_graph=*/false); });
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug);
    EXPECT_THAT(error.what(), HasSubstr("step 1: aten::add ran in model/a, backward of double"));
  }
}

}  // namespace
}  // namespace lockstep::ops
