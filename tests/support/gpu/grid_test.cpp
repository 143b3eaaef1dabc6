// The emulated grid keeps CUDA's promises and breaks whatever CUDA does not promise.
#include "support/gpu/grid.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <utility>
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

// Between barriers a warp may be far ahead of the others.
TEST(Grid, WarpsWaitForEachOtherOnlyAtBarriers) {
  struct Kernel {
    std::vector<int>* warps;  // in the order in which their first lanes come by
    void operator()(Thread& t) const {
      for (int i = 0; i < 3; ++i) {
        if (t.thread() % 32 == 0) warps->push_back(t.thread() / 32);
        t.shuffle_down(i, 1);
      }
    }
  };
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<int> warps;
    run({1, 64, 0}, Kernel{&warps}, seed);
    orders.insert(warps);
  }
  EXPECT_TRUE(orders.contains({0, 1, 0, 0, 1, 1}) || orders.contains({1, 0, 0, 0, 1, 1}));
  EXPECT_TRUE(orders.contains({0, 1, 1, 1, 0, 0}) || orders.contains({1, 0, 1, 1, 0, 0}));
  EXPECT_TRUE(orders.contains({0, 1, 0, 1, 0, 1}) || orders.contains({0, 1, 1, 0, 0, 1}));
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

// Matrices of bytes in the lanes' registers, as PTX's documentation draws "mma.m16n8k32 with .s8":
//   groupID = %laneid >> 2, threadID_in_group = %laneid % 4
//   a: row = groupID for a_i where 0 <= i < 4 or 8 <= i < 12, else groupID + 8;
//      col = threadID_in_group * 4 + (i & 3) where i < 8, else + 16
//   b: row = threadID_in_group * 4 + (i & 3) where i < 4, else + 16; col = groupID
//   c: row = groupID where i < 2, else + 8; col = threadID_in_group * 2 + (i & 1)
// where i counts values, not registers.
struct Matrices {
  std::int8_t a[16][32], b[32][8];
  std::int32_t c[16][8];
};
struct MultiplyMatrices {
  const Matrices* in;
  std::int32_t (*out)[16][8];  // a warp's
  int missing;                 // a thread that does not come
  void operator()(Thread& t) const {
    const int group = t.thread() % 32 / 4, in_group = t.thread() % 4;
    std::uint32_t a[4] = {}, b[2] = {};
    std::int32_t c[4];
    for (int i = 0; i < 16; ++i) {
      const int row = i < 4 || (i >= 8 && i < 12) ? group : group + 8;
      const int col = in_group * 4 + (i & 3) + (i < 8 ? 0 : 16);
      a[i / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(in->a[row][col]))
                  << i % 4 * 8;
    }
    for (int i = 0; i < 8; ++i) {
      const int row = in_group * 4 + (i & 3) + (i < 4 ? 0 : 16);
      b[i / 4] |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(in->b[row][group]))
                  << i % 4 * 8;
    }
    const auto place = [&](int i) {
      return std::pair(i < 2 ? group : group + 8, in_group * 2 + (i & 1));
    };
    for (int i = 0; i < 4; ++i) c[i] = in->c[place(i).first][place(i).second];
    if (t.thread() == missing) return;
    t.mma(c, a, b);
    for (int i = 0; i < 4; ++i) out[t.thread() / 32][place(i).first][place(i).second] = c[i];
  }
};

Matrices random_matrices() {
  std::mt19937 random(7);
  Matrices m{};
  for (auto& row : m.a)
    for (auto& v : row) v = static_cast<std::int8_t>(random());
  for (auto& row : m.b)
    for (auto& v : row) v = static_cast<std::int8_t>(random());
  for (auto& row : m.c)
    for (auto& v : row) v = static_cast<std::int32_t>(random());
  m.a[0][0] = m.b[0][0] = -128;
  m.c[0][0] = std::numeric_limits<std::int32_t>::max();
  return m;
}

TEST(Grid, WarpsMultiplyMatrices) {
  const Matrices m = random_matrices();
  std::int32_t found[2][16][8];
  run({1, 64, 0}, MultiplyMatrices{&m, found, -1}, 11);
  for (const auto& warp : found) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 8; ++j) {
        std::int64_t sum = m.c[i][j];
        for (int k = 0; k < 32; ++k) sum += m.a[i][k] * m.b[k][j];
        EXPECT_EQ(warp[i][j], static_cast<std::int32_t>(sum)) << i << " " << j;  // modulo 2^32
      }
    }
  }
}

// Four matrices of 8 x 8 values of 16 bits, as PTX's documentation has "ldmatrix .x4": threads 0-7,
// 8-15, 16-23, 24-31 give the rows of matrices 0 to 3; a thread gets values (lane % 4) * 2 and + 1
// of row lane / 4 of each, in one register.
struct LoadMatrices {
  std::vector<std::uint32_t>* found;  // [thread][4]
  int missing;                        // a thread that does not come
  int skip;                           // bytes that rows are misplaced by
  bool turned = false;                // values (lane % 4) * 2 and + 1 of column lane / 4
  static int value(int matrix, int row, int column) { return matrix * 64 + row * 8 + column; }
  void operator()(Thread& t) const {
    auto* const shared = t.shared<std::uint16_t>();
    const int lane = t.thread() % 32, warp = t.thread() / 32, own = lane * 7 % 32;
    std::uint16_t* const row = shared + (warp * 32 + own) * 8;
    for (int i = 0; i < 8; ++i)
      row[i] = static_cast<std::uint16_t>(warp * 256 + value(lane / 8, lane % 8, i));
    t.barrier();
    if (t.thread() == missing) return;
    std::uint32_t to[4];
    const char* const from = reinterpret_cast<const char*>(row) + skip;
    turned ? t.load_turned_matrices(to, from) : t.load_matrices(to, from);
    for (int m = 0; m < 4; ++m) (*found)[static_cast<std::size_t>(t.thread() * 4 + m)] = to[m];
  }
};

TEST(Grid, WarpsLoadMatrices) {
  for (const bool turned : {false, true}) {
    std::vector<std::uint32_t> found(64 * 4);
    run({1, 64, 1024}, LoadMatrices{&found, -1, 0, turned}, 3);
    for (int thread = 0; thread < 64; ++thread) {
      for (int m = 0; m < 4; ++m) {
        const auto value = [&](int across, int along) {
          return thread / 32 * 256 + (turned ? LoadMatrices::value(m, along, across)
                                             : LoadMatrices::value(m, across, along));
        };
        const int group = thread % 32 / 4, place = thread % 4 * 2;
        EXPECT_EQ(found[static_cast<std::size_t>(thread * 4 + m)],
                  static_cast<std::uint32_t>(value(group, place) | value(group, place + 1) << 16));
      }
    }
  }
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

TEST(GridDeathTest, ACopyThatNobodyWaitsForIsNamed) {
  alignas(16) const float from[4] = {};
  EXPECT_DEATH(run({1, 32, 16}, OneCopy{from, 0, 0}, 1), "before its asynchronous copies have");
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

TEST(GridDeathTest, AMistakeInALoadOfMatricesIsNamed) {
  std::vector<std::uint32_t> found(64 * 4);
  EXPECT_DEATH(run({1, 64, 1024}, LoadMatrices{&found, 40, 0}, 3),
               "a warp's threads part before a load of matrices");
  EXPECT_DEATH(run({1, 64, 1024}, LoadMatrices{&found, -1, 4}, 3), "not aligned to 16 bytes");
  EXPECT_DEATH(run({1, 64, 1024}, LoadMatrices{&found, -1, 1024}, 3), "outside shared memory");
}

TEST(GridDeathTest, AThreadThatMissesAProductOfMatricesIsNamed) {
  const Matrices m = random_matrices();
  std::int32_t found[2][16][8];
  EXPECT_DEATH(run({1, 64, 0}, MultiplyMatrices{&m, found, 40}, 11),
               "a warp's threads part before a product of matrices");
}

TEST(GridDeathTest, ALaunchThatNoGpuTakesEndsTheProgram) {
  struct Kernel {
    void operator()(Thread&) const {}
  };
  EXPECT_DEATH(run({1, 48, 0}, Kernel{}, 1), "a block of no such size");
  EXPECT_DEATH(run({1, 32, kMostSharedOfAny + 4}, Kernel{}, 1), "more shared memory");
  EXPECT_DEATH(run({std::int64_t{1} << 31, 32, 0}, Kernel{}, 1), "more blocks");
}

}  // namespace
}  // namespace lockstep::test::gpu
