// One checkpoint of the recipe's state: how long the trainer is blocked, until it is durable, until
// it is verified, and until it is loaded (verified, and copied into the state). One JSON line.
//   checkpoint_bench RECIPE FOLDER
#include <cstdio>
#include <filesystem>
#include <string>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/foreign.h"
#include "lockstep/data/dataset.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/ops/device.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/training.h"

namespace lockstep {
namespace {

constexpr std::uint64_t kAny = std::uint64_t{1} << 40;  // bytes of a file

std::string shapes(const state::State& state) {
  std::string text;
  for (const state::Named& named : state.tensors) {
    std::string one;
    for (const std::int64_t size : named.shape())
      one += (one.empty() ? "" : ",") + std::to_string(size);
    text += (text.empty() ? "[" : ",[") + one + "]";
  }
  return text;
}

void measure(const std::string& recipe_path, const std::filesystem::path& folder) {
  const recipe::Recipe recipe = recipe::load(recipe_path);
  const auto dataset = data::open(recipe.data);
  train::Training training = train::make_training(recipe, dataset->sample_shape(), {.world = 1});
  FileSystem& fs = real_file_system();
  checkpoint::Saver saver(fs, folder,
                          {.every = 1, .keep_last = 1, .keep_every = 0, .last = Step(0)});
  const checkpoint::Meta meta{.recipe = {},
                              .data = {},
                              .semantics = 0,
                              .chain = {},
                              .state = state::digest(training.state).root,
                              .sample_shape = {28, 28, 1},
                              .recipe_text = "none"};
  double at = monotonic_seconds();
  const auto lap = [&] {
    const double before = at;
    at = monotonic_seconds();
    return at - before;
  };
  saver.save(meta, training.state);
  const double blocked = lap();
  saver.wait();
  const double durable = blocked + lap();
  const auto file = folder / checkpoint::file_name(Step(0));
  const std::string sidecar = file.string() + ".sha256";
  lap();
  const Bytes bytes = read_file(fs, file, kAny), text = read_file(fs, sidecar, kAny);
  const bool damaged =
      checkpoint::verify_sidecar(bytes, {reinterpret_cast<const char*>(text.data()), text.size()},
                                 file.filename())
          .has_value();
  const double verify = lap();
  if (damaged) throw Error(Code::kBug, "the checkpoint is not what was saved");
  checkpoint::load(fs, file).restore(training.state);
  const double load = lap();
  std::printf(
      "{\"bytes\":%lld,\"blocked\":%.6f,\"durable\":%.6f,\"verify\":%.6f,\"load\":%.6f,\"shapes\":["
      "%s]}\n",
      static_cast<long long>(training.state.bytes()), blocked, durable, verify, load,
      shapes(training.state).c_str());
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: checkpoint_bench RECIPE FOLDER\n");
    return 2;
  }
  lockstep::numerics::Cpu cpu(1);
  const lockstep::ops::DeviceScope here(cpu);
  lockstep::measure(argv[1], argv[2]);
}
