#include "support/ptx/grid.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "support/ptx/global_memory.h"
#include "support/ptx/warp.h"

namespace lockstep::test::ptx {

void run_grid(const Function& kernel, const void* const* arguments, std::uint32_t blocks,
              std::uint32_t threads, std::size_t shared_bytes, std::uint64_t seed) {
  if (threads == 0 || threads % kLanes != 0) die("a block that is not made of whole warps");
  if (kernel.threads != 0 && threads > kernel.threads)
    die("a block of more threads than its kernel has registers for: " + kernel.name);
  std::mt19937_64 random(seed);
  SharedMemory shared(shared_bytes);
  GlobalMemory& global = global_memory();
  global.begin_launch();
  std::vector<std::unique_ptr<Warp>> warps;
  for (std::uint32_t w = 0; w < threads / kLanes; ++w)
    warps.push_back(std::make_unique<Warp>(kernel, arguments, static_cast<int>(w),
                                           Dim{threads, blocks}, shared, global));
  std::vector<std::size_t> order(warps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Counts all{.launches = 1,
             .blocks = blocks,
             .warps = blocks * warps.size(),
             .shared_bytes = blocks * shared_bytes};
  for (std::uint32_t block = 0; block < blocks; ++block) {
    std::uint64_t clock = 0;
    shared.begin();
    global.begin_block();
    for (const auto& warp : warps) warp->begin(block);
    for (std::size_t waiting = warps.size(); waiting > 0;) {
      std::shuffle(order.begin(), order.end(), random);
      waiting = 0;
      for (const std::size_t w : order)
        if (warps[w]->go_on() == Warp::Stop::kBarrier) ++waiting;
      if (waiting != 0 && waiting != warps.size())
        die("a barrier that not all threads of the block reach: " + kernel.name);
      shared.barrier();
      global.barrier();
      if (!profiling()) continue;
      for (const auto& warp : warps) clock = std::max(clock, warp->clock()->now());
      for (const auto& warp : warps) warp->clock()->go_on_at(clock);
    }
    all.clocks += clock;
    all.longest = std::max(all.longest, clock);
    for (const auto& warp : warps) warp->end();
  }
  if (!listing()) return;
  if (profiling())
    for (const auto& warp : warps) all.add(*warp->counts());
  keep(kernel.name, all);
}

}  // namespace lockstep::test::ptx
