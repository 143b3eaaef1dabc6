// In portable numerics LibTorch allocates, views and copies; every sum and product is ours. Watches
// the dispatcher while the golden recipes train and sample, forward and backward.
#include <ATen/record_function.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <string>

#include "lockstep/core/log.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/run.h"
#include "support/temporary_folder.h"

namespace lockstep::train {
namespace {

const std::set<std::string> kMovement = {
    "aten::as_strided", "aten::cat",       "aten::clone",  "aten::contiguous",
    "aten::copy_",      "aten::detach",    "aten::empty",  "aten::empty_like",
    "aten::expand",     "aten::narrow",    "aten::select", "aten::empty_strided",
    "aten::slice",      "aten::unsqueeze", "aten::view"};

// Names of LibTorch's operators that ran and are not mere movement of data.
class Watcher {
 public:
  Watcher()
      : handle_(at::addGlobalCallback(at::RecordFunctionCallback(
            [](const at::RecordFunction& f) -> std::unique_ptr<at::ObserverContext> {
              const std::string name = f.name();
              if (name.starts_with("aten::") && !kMovement.contains(name)) {
                const std::scoped_lock lock(mutex());
                others().insert(name);
              }
              return nullptr;
            }))) {
    others().clear();
  }
  ~Watcher() { at::removeCallback(handle_); }
  static std::set<std::string>& others() {
    static std::set<std::string> names;
    return names;
  }

 private:
  static std::mutex& mutex() {
    static std::mutex instance;
    return instance;
  }
  at::CallbackHandle handle_;
};

void train(const std::string& recipe, const std::string& objective_steps) {
  const lockstep::testing::TemporaryFolder folder;
  log::set_quiet(true);
  run({.recipe = recipe::load(std::string(LOCKSTEP_SOURCE_DIR "/recipes/golden/") + recipe,
                              {"run.steps=" + objective_steps, "samples.count=4"}),
       .folder = folder.path() / "run",
       .threads = 1});
}

TEST(OnlyMovement, IsLeftToLibTorchByDiffusion) {
  const Watcher watcher;
  train("ddpm.toml", "2");
  EXPECT_EQ(Watcher::others(), std::set<std::string>{});
}

TEST(OnlyMovement, IsLeftToLibTorchByGans) {
  const Watcher watcher;
  train("toy-gan.toml", "2");
  EXPECT_EQ(Watcher::others(), std::set<std::string>{});
}

TEST(OnlyMovement, AnAdditionWouldBeSeen) {
  const Watcher watcher;
  const at::Tensor x = at::empty({4});
  at::add(x, x);
  EXPECT_EQ(Watcher::others(), std::set<std::string>{"aten::add"});
}

}  // namespace
}  // namespace lockstep::train
