// The emulated grid keeps CUDA's promises and breaks whatever CUDA does not promise.
#include "support/gpu/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace lockstep::test::gpu {
namespace {

using numerics::cuda::Grid;

TEST(Grid, RunsEveryThreadOfEveryBlockOnce) {
  struct Kernel {
    std::vector<int>* seen;
    void operator()(Thread& t) const {
      ++(*seen)[static_cast<std::size_t>(t.block() * t.threads() + t.thread())];
    }
  };
  for (const std::int64_t blocks : {1, 2, 7, 64}) {
    std::vector<int> seen(static_cast<std::size_t>(blocks) * 96);
    run({blocks, 96, 0}, Kernel{&seen}, static_cast<std::uint64_t>(blocks));
    EXPECT_EQ(seen, std::vector<int>(seen.size(), 1));
  }
}

TEST(Grid, RunsThreadsInAnotherOrderEachTime) {
  struct Kernel {
    std::vector<int>* order;
    void operator()(Thread& t) const { order->push_back(t.thread()); }
  };
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<int> order;
    run({1, 64, 0}, Kernel{&order}, seed);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 20U);
}

// Each thread writes its place and reads its neighbour's: right only with a barrier between.
struct Neighbours {
  bool barrier;
  std::vector<float>* found;
  void operator()(Thread& t) const {
    auto* const shared = t.shared<float>();
    shared[t.thread()] = static_cast<float>(t.thread());
    if (barrier) t.barrier();
    (*found)[static_cast<std::size_t>(t.thread())] = shared[(t.thread() + 1) % t.threads()];
  }
};

TEST(Grid, BarriersMakeWritesSeen) {
  std::vector<float> found(128);
  run({3, 128, 128 * 4}, Neighbours{true, &found}, 1);
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(found[i], static_cast<float>((i + 1) % 128));
}

TEST(Grid, AMissingBarrierShows) {
  std::vector<float> found(128);
  run({3, 128, 128 * 4}, Neighbours{false, &found}, 1);
  int wrong = 0;
  for (std::size_t i = 0; i < 128; ++i) wrong += std::isnan(found[i]) ? 1 : 0;
  EXPECT_GT(wrong, 20);
}

TEST(Grid, ShufflesStayInTheWarp) {
  struct Kernel {
    std::vector<int>* found;
    void operator()(Thread& t) const {
      (*found)[static_cast<std::size_t>(t.thread())] = t.shuffle_down(t.thread(), 4);
    }
  };
  std::vector<int> found(64);
  run({1, 64, 0}, Kernel{&found}, 3);
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(found[static_cast<std::size_t>(i)], i % 32 < 28 ? i + 4 : i);
}

// Copies arrive at the wait that they must be there for, not before.
struct Copies {
  const float* from;
  std::vector<float>* early;
  std::vector<float>* late;
  void operator()(Thread& t) const {
    auto* const shared = t.shared<float>();
    if (t.thread() == 0) {
      t.copy_async(shared, from, true);
      t.commit();
      t.copy_async(shared + 4, from + 4, true);
      t.commit();
      t.wait<1>();
      early->assign(shared, shared + 8);
      t.wait<0>();
      late->assign(shared, shared + 8);
    }
  }
};

TEST(Grid, CopiesAreAsLateAsTheirWaitAllows) {
  alignas(16) const float from[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> early, late;
  run({1, 32, 32}, Copies{from, &early, &late}, 5);
  EXPECT_EQ(std::vector<float>(early.begin(), early.begin() + 4), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_TRUE(std::isnan(early[4]));
  EXPECT_EQ(late, std::vector<float>(from, from + 8));
}

TEST(Grid, CopiesOfWhatIsNotThereAreZeros) {
  struct Kernel {
    const float* from;
    std::vector<float>* found;
    void operator()(Thread& t) const {
      auto* const shared = t.shared<float>();
      if (t.thread() != 0) return;
      t.copy_async(shared, from, false);
      t.commit();
      t.wait<0>();
      found->assign(shared, shared + 4);
    }
  };
  alignas(16) const float from[4] = {1, 2, 3, 4};
  std::vector<float> found;
  run({1, 32, 16}, Kernel{from, &found}, 1);
  EXPECT_EQ(found, std::vector<float>(4, 0.0F));
}

using GridDeathTest = ::testing::Test;

// One copy, so many floats behind the beginnings.
struct OneCopy {
  const float* from;
  int skip_to, skip_from;
  void operator()(Thread& t) const {
    if (t.thread() == 0) t.copy_async(t.shared<float>() + skip_to, from + skip_from, true);
  }
};

TEST(GridDeathTest, AMisalignedCopyIsNamed) {
  alignas(16) const float from[8] = {};
  EXPECT_DEATH(run({1, 32, 32}, OneCopy{from, 1, 0}, 1), "not aligned to 16 bytes");
  EXPECT_DEATH(run({1, 32, 32}, OneCopy{from, 0, 2}, 1), "not aligned to 16 bytes");
}

TEST(GridDeathTest, ACopyToAPlaceOutsideSharedMemoryIsNamed) {
  alignas(16) const float from[4] = {};
  for (const int skip : {-4, 8, 4096})
    EXPECT_DEATH(run({1, 32, 32}, OneCopy{from, skip, 0}, 1), "outside shared memory");
}

TEST(GridDeathTest, ABarrierThatSomeThreadsMissIsNamed) {
  struct Kernel {
    void operator()(Thread& t) const {
      if (t.thread() != 5) t.barrier();
    }
  };
  EXPECT_DEATH(run({1, 32, 0}, Kernel{}, 1), "a barrier that not all threads of the block reach");
}

TEST(GridDeathTest, AWriteBehindSharedMemoryEndsTheProgram) {
  struct Kernel {
    void operator()(Thread& t) const { t.shared<float>()[8] = 1; }
  };
  EXPECT_DEATH(run({1, 32, 32}, Kernel{}, 1), "");
}

}  // namespace
}  // namespace lockstep::test::gpu
