#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "lockstep/comm/journal.h"
#include "lockstep/core/error.h"
#include "support/local_ranks.h"

namespace lockstep::comm {
namespace {

using testing::HasSubstr;

class Local : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(World, Local, testing::Range(1, 6));

// What `sender` has for `receiver` in `round`: sizes and bytes of their own, some empty.
Bytes message(std::int64_t sender, std::int64_t receiver, int round) {
  Bytes bytes(static_cast<std::size_t>((sender * 7 + receiver * 3 + round) % 11));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = std::byte(sender * 50 + receiver * 10 + round * 3 + static_cast<int>(i));
  return bytes;
}

TEST_P(Local, AllToAllDeliversEveryMessageToItsRank) {
  run_local(GetParam(), [](Group& group) {
    for (int round = 0; round < 50; ++round) {
      std::vector<Bytes> out, in;
      for (int r = 0; r < group.size(); ++r) {
        out.push_back(message(group.rank().value, r, round));
        in.emplace_back(message(r, group.rank().value, round).size());
      }
      group.all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                       std::vector<MutableByteView>(in.begin(), in.end()));
      for (int r = 0; r < group.size(); ++r)
        ASSERT_EQ(in[static_cast<std::size_t>(r)], message(r, group.rank().value, round));
    }
  });
}

TEST_P(Local, AllGatherDeliversEveryRanksBytesToEveryRank) {
  run_local(GetParam(), [](Group& group) {
    for (int round = 0; round < 50; ++round) {
      const Bytes mine = message(group.rank().value, 0, round);
      std::vector<Bytes> in;
      for (int r = 0; r < group.size(); ++r) in.emplace_back(message(r, 0, round).size());
      group.all_gather(mine, std::vector<MutableByteView>(in.begin(), in.end()));
      for (int r = 0; r < group.size(); ++r)
        ASSERT_EQ(in[static_cast<std::size_t>(r)], message(r, 0, round));
    }
  });
}

TEST_P(Local, BroadcastDeliversFromEveryRoot) {
  run_local(GetParam(), [](Group& group) {
    for (int root = 0; root < group.size(); ++root) {
      Bytes buffer(9, std::byte(group.rank().value));
      group.broadcast(Rank(root), buffer);
      ASSERT_EQ(buffer, Bytes(9, std::byte(root)));
    }
  });
}

TEST_P(Local, BarrierLetsNobodyThroughEarly) {
  std::atomic<int> arrived{0};
  run_local(GetParam(), [&](Group& group) {
    for (int round = 1; round <= 20; ++round) {
      ++arrived;
      group.barrier();
      ASSERT_GE(arrived.load(), round * group.size());
    }
  });
}

TEST_P(Local, EveryRankRunsOnceAndKnowsItself) {
  std::vector<int> seen(static_cast<std::size_t>(GetParam()));
  run_local(GetParam(), [&](Group& group) {
    EXPECT_EQ(group.size(), GetParam());
    ++seen[static_cast<std::size_t>(group.rank().value)];
  });
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(Local, AbortReleasesAllRanksWithTheFirstReason) {
  std::atomic<int> released{0};
  const auto body = [&](Group& group) {
    if (group.rank() == Rank(2)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      group.abort({Code::kEnvironment, "disk of rank 2 is full"});
      group.abort({Code::kEnvironment, "a later reason"});
    }
    for (int operation = 0; operation < 3; ++operation) {  // pending and later operations
      try {
        if (operation == 1) {
          Bytes buffer(4);
          group.broadcast(Rank(0), buffer);
        } else {
          group.barrier();
        }
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), Code::kNetwork);
        EXPECT_THAT(error.what(), HasSubstr("disk of rank 2 is full"));
        ++released;
      }
    }
  };
  run_local(4, body);
  EXPECT_EQ(released, 4 * 3);
}

TEST(Local, ARanksErrorIsRethrownAndReleasesTheOthers) {
  std::atomic<int> released{0};
  const auto body = [&](Group& group) {
    if (group.rank() == Rank(1)) throw Error(Code::kDiverged, "loss is NaN");
    try {
      group.barrier();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("rank 1"), HasSubstr("loss is NaN")));
      ++released;
      throw;
    }
  };
  try {
    run_local(3, body);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kDiverged);
    EXPECT_STREQ(error.what(), "loss is NaN");
  }
  EXPECT_EQ(released, 2);
}

// The buffers of the rank that finds the mismatch must outlive the others' copies from them; run
// under many repetitions so that a sanitizer would see a use after free.
TEST(Local, MismatchedSizesAreAnErrorThatNamesTheRank) {
  for (int round = 0; round < 30; ++round) {
    try {
      run_local(3, [](Group& group) {
        const Bytes mine(group.rank() == Rank(1) ? 3000 : 4000);
        std::vector<Bytes> in(3, Bytes(4000));
        group.all_gather(mine, std::vector<MutableByteView>(in.begin(), in.end()));
      });
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kNetwork);
      EXPECT_THAT(error.what(),
                  testing::AllOf(HasSubstr("expected 4000 bytes"), HasSubstr("from rank 1")));
    }
  }
}

TEST(Local, MismatchedBroadcastIsAnError) {
  EXPECT_THROW(run_local(2,
                         [](Group& group) {
                           Bytes buffer(group.rank() == Rank(0) ? 8 : 4);
                           group.broadcast(Rank(0), buffer);
                         }),
               Error);
}

// Rank 0 has nothing to receive and would be gone long before rank 1 has copied.
TEST(Local, BuffersStayWhileOthersReadThemThoughSomebodyAborts) {
  constexpr std::size_t kBytes = 256 << 20;
  for (int round = 0, copied = 0; copied < 3; ++round) {
    ASSERT_LT(round, 100) << "every abort came first";
    Bytes received(kBytes);
    try {
      run_local(2, [&](Group& group) {
        if (group.rank() == Rank(1)) {
          std::vector<MutableByteView> from = {received, {}};
          return group.all_to_all(std::vector<ByteView>(2), from);
        }
        Bytes sent(kBytes, std::byte(1));
        std::jthread other([&] {
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          group.abort({Code::kDiffer, "stop"});
        });
        try {
          group.all_to_all(std::vector<ByteView>{{}, sent}, std::vector<MutableByteView>(2));
        } catch (const Error&) {  // before or behind the operation: never in the middle
        }
        std::fill(sent.begin(), sent.end(), std::byte(2));
      });
    } catch (const Error&) {
    }
    EXPECT_EQ(std::count(received.begin(), received.end(), std::byte(2)), 0);
    copied += received.back() == std::byte(1);
  }
}

// Takes so many lines; the disk is full then.
class Disk final : public File {
 public:
  Disk(std::vector<std::string>& lines, std::size_t room) : lines_(lines), room_(room) {}
  void append(ByteView bytes) override {
    if (lines_.size() == room_) throw Error(Code::kEnvironment, "no space is left");
    lines_.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::size_t read_at(std::uint64_t, MutableByteView) override { return 0; }
  std::uint64_t size() override { return 0; }
  void sync() override {}
  void truncate(std::uint64_t) override {}
  bool is_at(const std::filesystem::path&) override { return true; }

 private:
  std::vector<std::string>& lines_;
  const std::size_t room_;
};

TEST(Journal, EndsByItselfWhereItCannotBeWritten) {
  std::vector<std::string> lines;
  run_local(1, [&](Group& group) {
    Journal journal(group, std::make_unique<Disk>(lines, 2));
    for (int i = 0; i < 5; ++i)
      journal.end(journal.begin("barrier", {}, {}, Memory::kHost), i == 1 ? "lost" : "");
  });
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_THAT(lines[1], HasSubstr("lost"));
}

}  // namespace
}  // namespace lockstep::comm
