// A network from outside that lets LibTorch do arithmetic is stopped, and the operator and its
// place are named; what the product itself does is clean.
#include "lockstep/ops/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/custom_function.h>

#include <thread>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/model/layers.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/run.h"
#include "lockstep/train/step.h"
#include "support/local_ranks.h"
#include "support/temporary_folder.h"
#include "train/some_run.h"

namespace lockstep::train {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// What a plug-in does to its activations h [N, H, W, C].
using Trick = std::function<Tensor(lane::Context&, const Tensor& h)>;

class Hidden : public model::Layer {
 public:
  explicit Hidden(Trick trick) : trick_(std::move(trick)) {
    linear_ = register_module("linear", std::make_shared<model::Linear>(1, 3));
  }
  Tensor forward(lane::Context& context, const Tensor& x) {
    const ops::Scope here = scope();
    return trick_(context, linear_->forward(context, x));
  }

 private:
  Trick trick_;
  std::shared_ptr<model::Linear> linear_;
};

// linear -> trick -> silu -> linear
class PlugIn : public model::Denoiser {
 public:
  explicit PlugIn(Trick trick, const std::function<void(Tensor)>& first_values = nullptr) {
    const Tensor scale = parameter("scale", {3}, {model::Init::kConstant, 1.0F});
    if (first_values) first_values(scale.detach());
    hidden_ = register_module("hidden", std::make_shared<Hidden>(std::move(trick)));
    output_ = register_module("output", std::make_shared<model::Linear>(3, 1));
    norm_ =
        register_module("norm", std::make_shared<model::GroupNorm>(1, 3, ops::Activation::kNone));
    scale_ = scale;
  }
  Tensor forward(lane::Context& context, const Tensor& x, const Tensor&, const Tensor&) override {
    const ops::Scope here = scope();
    const Tensor h = ops::silu(hidden_->forward(context, x));
    return output_->forward(
        context, ops::layer_norm(context.lanes(), norm_->forward(context, h), context.enter(scale_),
                                 context.enter(scale_), 1e-5F));
  }
  double forward_flops() const override { return 12; }

 private:
  std::shared_ptr<Hidden> hidden_;
  std::shared_ptr<model::Linear> output_;
  std::shared_ptr<model::GroupNorm> norm_;
  Tensor scale_;
};

const std::vector<std::int64_t> kShape = {4, 4, 1};

Training training_of(const std::function<std::shared_ptr<model::Network>()>& make, int world = 1) {
  const recipe::Recipe recipe =
      recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/ddpm.toml", {"objective.timesteps=20"});
  return make_training(recipe, kShape, {.world = world},
                       [&](const model::Options&, const auto&, auto) { return make(); });
}
Training training_of(const Trick& trick, int world = 1) {
  return training_of([&] { return std::make_shared<PlugIn>(trick); }, world);
}

void one_step(Training& training, comm::Group& group) {
  step(training, group, [](Draw first, std::int64_t count) {
    return objective::Batch{ops::filled({count, 4, 4, 1}, 0.5F), first};
  });
}

// The error that body throws, as text; it must be a bug's.
std::string stopped(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kBug) << error.what();
    return error.what();
  }
  return "was not stopped";
}

std::string stopped_step(const Trick& trick) {
  return stopped([&] {
    comm::run_local(1, [&](comm::Group& group) {
      Training training = training_of(trick);
      one_step(training, group);
    });
  });
}

TEST(Guard, LetsOursRun) {
  EXPECT_EQ(stopped_step([](auto&, const Tensor& h) {
              EXPECT_EQ(ops::where().module, "model/hidden");
              return ops::tanh(h);
            }),
            "was not stopped");
}

TEST(Guard, LetsLibTorchMoveData) {
  EXPECT_EQ(stopped_step([](auto&, const Tensor& h) {
              const Tensor constant = h.detach();
              at::cat({constant.narrow(0, 0, 1), constant.slice(0, 1)}, 0).view_as(h);
              // With gradients, which come back the same way.
              const Tensor moved = h.permute({0, 3, 1, 2}).contiguous().permute({0, 2, 3, 1});
              const Tensor turned = moved.transpose(1, 2).clone().transpose(1, 2);
              return turned.flatten(1, 2).reshape(h.sizes());
            }),
            "was not stopped");
}

TEST(Guard, StopsSilu) {
  EXPECT_EQ(stopped_step([](auto&, const Tensor& h) { return at::silu(h); }),
            "step 1: aten::silu ran in model/hidden: LibTorch may move data only, its arithmetic "
            "depends on the machine (use the ops of lockstep/ops/ops.h)");
}

TEST(Guard, StopsAddWithAlpha) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) {
                return at::add(ops::tanh(h).detach(), h.detach(), 0.5);
              }),
              HasSubstr("step 1: aten::add ran in model/hidden, after tanh: "));
}

TEST(Guard, StopsSum) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) {
                at::sum(h.detach());
                return h;
              }),
              HasSubstr("step 1: aten::sum ran in model/hidden: "));
}

TEST(Guard, StopsFirstValuesThatAreNotOurs) {
  const auto make = [] {
    return std::make_shared<PlugIn>([](auto&, const Tensor& h) { return h; },
                                    [](Tensor scale) { scale.normal_(); });
  };
  EXPECT_THAT(stopped([&] { training_of(make); }),
              HasSubstr("initialisation: aten::normal_ ran in model: "));
}

TEST(Guard, StopsConversions) {
  const auto rounded = [](auto&, const Tensor& h) {
    at::empty(h.sizes(), at::kBFloat16).copy_(h.detach());
    return h;
  };
  EXPECT_THAT(stopped_step(rounded),
              HasSubstr("step 1: aten::copy_ between BFloat16 and Float ran in model/hidden: "));
  const auto promoted = [](auto&, const Tensor& h) {
    at::cat({h.detach(), at::empty({1, 4, 4, 3}, at::kDouble)}, 0);
    return h;
  };
  EXPECT_THAT(stopped_step(promoted),
              HasSubstr("step 1: aten::cat between Float and Double ran in model/hidden: "));
  const auto widened = [](auto&, const Tensor& h) {
    h.detach().to(at::kDouble);
    return h;
  };
  EXPECT_THAT(stopped_step(widened), HasSubstr("step 1: aten::to ran in model/hidden: "));
}

// Forward it only views.
struct Doubling : torch::autograd::Function<Doubling> {
  static Tensor forward(torch::autograd::AutogradContext*, const Tensor& x) { return x.view_as(x); }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 const torch::autograd::variable_list& grads) {
    return {at::mul(grads[0], 2)};
  }
};

TEST(Guard, StopsABackwardFunctionFromOutside) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) { return Doubling::apply(h); }),
              MatchesRegex("step 1: aten::mul ran in autograd node .*Doubling.* \\(the autograd "
                           "engine, after the backward of silu in model\\): .*"));
}

TEST(Guard, StopsTheEnginesOwnAdditions) {
  EXPECT_THAT(
      stopped_step([](auto&, const Tensor& h) {
        const Tensor t = ops::tanh(h);  // two uses without ops::fork
        return ops::add(t, ops::scale(t, 0.5F));
      }),
      MatchesRegex("step 1: aten::add_? ran in the autograd engine, after the backward of scale in "
                   "model/hidden: .*goes through ops::fork.*"));
}

TEST(Guard, StopsHooks) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) {
                const Tensor t = ops::tanh(h);
                t.register_hook([](const Tensor& grad) { return at::mul(grad, 2); });
                return t;
              }),
              HasSubstr("step 1: aten::mul ran in the autograd engine, after the backward of "));
}

TEST(Guard, StopsEveryThread) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) {
                const Tensor x = h.detach();
                std::thread([&] { at::mul(x, x); }).join();
                return h;
              }),
              HasSubstr("step 1: aten::mul ran in a thread of its own: "));
}

TEST(Guard, StopsSampling) {
  Training training = training_of(
      [](lane::Context& context, const Tensor& h) { return context.training() ? h : at::relu(h); });
  comm::run_local(1, [&](comm::Group& group) { one_step(training, group); });
  EXPECT_THAT(stopped([&] { draw_samples(training, {.first = 0, .count = 2}); }),
              HasSubstr("sampling at step 1: aten::relu ran in model/hidden: "));
}

// One rank of three goes wrong, the others leave their collectives.
TEST(Guard, StopsTheRankAndTheGroup) {
  for (const int wrong : {0, 1, 2}) {
    EXPECT_THAT(stopped([&] {
                  comm::run_local(3, [&](comm::Group& group) {
                    Training training = training_of(
                        [&](auto&, const Tensor& h) {
                          return group.rank().value == wrong ? at::silu(h) : h;
                        },
                        3);
                    one_step(training, group);
                  });
                }),
                HasSubstr("step 1: aten::silu ran in model/hidden: "));
  }
}

// What follows from arithmetic that is not ours does not hide it.
TEST(Guard, NamesTheOperatorWhateverIsThrownLater) {
  EXPECT_THAT(stopped_step([](auto&, const Tensor& h) -> Tensor {
                at::silu(h.detach());
                throw Error(Code::kData, "something else");
              }),
              HasSubstr("aten::silu"));
}

TEST(Guard, StopsAtTheNextOpOfOurs) {
  bool went_on = false;
  EXPECT_THAT(stopped_step([&](auto&, const Tensor& h) {
                at::silu(h.detach());
                const Tensor next = ops::tanh(h);
                went_on = true;
                return next;
              }),
              HasSubstr("aten::silu"));
  EXPECT_FALSE(went_on);
}

// Nothing of ours runs after it: the end of the step looks.
TEST(Guard, LooksAtTheEnd) {
  EXPECT_THAT(stopped([] { ops::guarded("the end", [] { at::mul(ops::filled({1}, 1), 2); }); }),
              HasSubstr("the end: aten::mul ran in an unnamed module"));
}

TEST(Guard, LeavesOthersAlone) {
  ops::guarded("before", [] {});
  const Tensor x = at::mul(ops::filled({1}, 1), 2);
  ops::guarded("after", [&] { ops::scale(x, 2); });
}

// Not LibTorch's arithmetic but ours would change: every kernel looks at the mode it runs in.
TEST(Guard, AFlushToZeroIsStoppedByTheNextKernel) {
  try {
    comm::run_local(2, [](comm::Group& group) {  // threads that end: the mode goes with them
      Training training = training_of(
          [](auto&, const Tensor& h) {
            EXPECT_TRUE(at::globalContext().setFlushDenormal(true));
            return h;
          },
          2);
      one_step(training, group);
    });
    ADD_FAILURE() << "went unseen";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kEnvironment);
    EXPECT_THAT(error.what(), HasSubstr("subnormal numbers are flushed"));
  }
}

void train(const std::string& recipe) {
  const lockstep::testing::TemporaryFolder folder;
  log::set_quiet(true);
  testing::run_by(1, {.recipe = recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/" + recipe,
                                             {"run.steps=2", "samples.count=4"}),
                      .folder = folder.path() / "run"});
}

TEST(Guard, FindsTheGoldenRecipesClean) {
  train("ddpm.toml");
  train("toy-gan.toml");
  train("dcgan.toml");
  train("sngan.toml");
}

}  // namespace
}  // namespace lockstep::train
