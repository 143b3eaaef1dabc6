// Trains a recipe by ranks that are threads of this process: comm::LocalGroup instead of a network.
// usage: lockstep_by_threads RECIPE FOLDER RANKS none|optimizer [KEY=VALUE]...
#include <charconv>
#include <iostream>
#include <string_view>

#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/run.h"
#include "support/local_ranks.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  int ranks = 0;
  if (argc > 3) std::from_chars(argv[3], argv[3] + std::string_view(argv[3]).size(), ranks);
  if (ranks < 1 || argc < 5) {
    std::cerr << "usage: lockstep_by_threads RECIPE FOLDER RANKS none|optimizer [KEY=VALUE]...\n";
    return static_cast<int>(Code::kUsage);
  }
  try {
    log::set_quiet(true);
    const train::RunOptions options{.recipe = recipe::load(argv[1], {argv + 5, argv + argc}),
                                    .folder = argv[2],
                                    .shard = argv[4] == std::string_view("optimizer")
                                                 ? train::Shard::kOptimizer
                                                 : train::Shard::kNone};
    comm::run_local(ranks, [&](comm::Group& group) { train::run(options, group); });
  } catch (const Error& error) {
    std::cerr << error.what() << "\n";
    return static_cast<int>(error.code());
  }
  return 0;
}
