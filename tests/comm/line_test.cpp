#include "comm/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>

namespace lockstep::comm {
namespace {

// Breaks in each operation's rest, after rank 1's opening has come.
class Breaking final : public Transport {
 public:
  explicit Breaking(Bytes opening) : opening_(std::move(opening)) {}
  std::string begin(std::uint64_t number, std::span<const ByteView>,
                    std::span<const MutableByteView> from, Memory) noexcept override {
    if (number % 2 != 0) return "broken";
    std::ranges::copy(opening_, from[1].begin());
    return "";
  }
  std::string finish(std::chrono::milliseconds) noexcept override { return "broken"; }
  void interrupt() noexcept override {}

 private:
  const Bytes opening_;
};

std::string error_of_gather(const Bytes& opening) {
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data())) std::abort();
  Socket other(ends[1]);
  Joined joined{{}, {"a", "b"}, {}, ""};
  joined.peers.resize(2);
  joined.peers[1].socket = Socket(ends[0]);
  Control control(Rank(0), std::move(joined), 60);
  Breaking transport(opening);
  Line line(0, 60, control, transport);
  Bytes mine(5000), own(5000), theirs(5000);
  const std::vector<bool> all(2, true);
  try {
    line.begin('g', Memory::kHost, std::vector<ByteView>(2, mine),
               std::vector<MutableByteView>{own, theirs}, all, all)
        ->finish();
  } catch (const Error& error) {
    other = Socket();
    return error.what();
  }
  return "no error";
}

Bytes opening_of(std::uint64_t size, char kind) {
  Bytes opening;
  put_u64_le(opening, 1);  // the operation's number
  put_u64_le(opening, size);
  opening.push_back(static_cast<std::byte>(kind));
  return opening;
}

// A rest of another size breaks the connection: often before the others' openings have come.
TEST(Line, ARankOutOfStepIsNamedWhereItBrokeTheConnection) {
  EXPECT_THAT(error_of_gather(opening_of(6000, 'g')),
              testing::AllOf(testing::HasSubstr("out of step"), testing::HasSubstr("5000 bytes"),
                             testing::HasSubstr("rank 1 on b sent all_gather with 6000 bytes")));
}

TEST(Line, AnOpeningThatHasNotComeIsNotCompared) {
  EXPECT_THAT(error_of_gather(opening_of(5000, 'g')), testing::HasSubstr("failed: broken"));
  Bytes half = opening_of(6000, 'g');
  half.pop_back();
  EXPECT_THAT(error_of_gather(half), testing::HasSubstr("failed: broken"));
}

}  // namespace
}  // namespace lockstep::comm
