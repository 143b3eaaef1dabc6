// Small real runs for tests to damage: made once a process, copied for each test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "lockstep/recipe/load.h"
#include "lockstep/train/run.h"
#include "support/local_ranks.h"
#include "support/temporary_folder.h"

namespace lockstep::testing {

inline recipe::Recipe small_gan(const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides = {
      "run.steps=6",        "checkpoint.every=3",     "samples.every=3",        "samples.count=16",
      "generator.hidden=8", "discriminator.hidden=8", "evidence.commit_every=2"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return recipe::load(LOCKSTEP_SOURCE_DIR "/recipes/golden/toy-gan.toml", overrides);
}

// run() by `world` ranks that are threads.
inline train::RunResult run_by(int world, const train::RunOptions& options) {
  train::RunResult result;
  comm::run_local(world, [&](comm::Group& group) {
    const train::RunResult mine = train::run(options, group);
    if (group.rank() == Rank(0)) result = mine;
  });
  return result;
}

// Six steps: checkpoints and pictures at 3 and 6, commits at 2, 4 and 6.
inline void make_run(const std::filesystem::path& folder, std::int64_t seed) {
  run_by(1, {.recipe = small_gan({"run.seed=" + std::to_string(seed)}), .folder = folder});
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// A copy of the run of `seed` (1 or 2), its own to damage.
class SomeRun {
 public:
  explicit SomeRun(std::int64_t seed = 1) {
    static const TemporaryFolder originals;
    const std::filesystem::path original = originals.path() / std::to_string(seed);
    if (!std::filesystem::exists(original)) make_run(original, seed);
    std::filesystem::copy(original, path(), std::filesystem::copy_options::recursive);
  }
  const std::filesystem::path& path() const { return folder_.path(); }

  // What verify vouches for, relative to the folder.
  static const std::vector<std::string>& evidence() {
    static const std::vector<std::string> files = {"recipe.toml",
                                                   "ledger.jsonl",
                                                   "checkpoints/step-00000003.h5",
                                                   "checkpoints/step-00000003.h5.sha256",
                                                   "checkpoints/step-00000006.h5",
                                                   "checkpoints/step-00000006.h5.sha256",
                                                   "samples/step-00000003.png",
                                                   "samples/step-00000006.png"};
    return files;
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace lockstep::testing
