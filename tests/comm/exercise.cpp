#include "exercise.h"

#include <algorithm>
#include <vector>

namespace lockstep::comm {
namespace {

std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

std::uint64_t key_of(int operation, int round, std::int64_t sender, std::int64_t receiver) {
  return mix(
      mix(mix(mix(static_cast<std::uint64_t>(operation)) + static_cast<std::uint64_t>(round)) +
          static_cast<std::uint64_t>(sender)) +
      static_cast<std::uint64_t>(receiver));
}

std::size_t size_of(std::uint64_t key, std::size_t large) {
  static constexpr std::size_t kSizes[] = {0, 1, 3, 17, 255, 4097, 65537, 100003};
  return large ? large : kSizes[key % std::size(kSizes)];
}

Bytes pattern(std::uint64_t key, std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) key = mix(key);
    bytes[i] = static_cast<std::byte>(key >> (8 * (i % 8)));
  }
  return bytes;
}

using Messages = std::vector<Bytes>;  // by rank

std::vector<ByteView> sent(const Messages& messages) {
  return {messages.begin(), messages.end()};
}

std::vector<MutableByteView> received(Messages& messages) {
  return {messages.begin(), messages.end()};
}

// The all-to-all number `operation` of a round: what this rank sends, and room for what it
// receives.
struct AllToAll {
  AllToAll(const Group& group, int operation, int round, std::size_t large) {
    const std::int64_t me = group.rank().value;
    for (std::int64_t r = 0; r < group.size(); ++r) {
      const std::uint64_t to = key_of(operation, round, me, r),
                          from = key_of(operation, round, r, me);
      out.push_back(pattern(to, size_of(to, large)));
      in.emplace_back(size_of(from, large));
    }
  }
  Messages out, in;
};

struct AllGather {
  AllGather(const Group& group, int operation, int round, std::size_t large) {
    const std::uint64_t own = key_of(operation, round, group.rank().value, 0);
    mine = pattern(own, size_of(own, large));
    for (std::int64_t r = 0; r < group.size(); ++r)
      in.emplace_back(size_of(key_of(operation, round, r, 0), large));
  }
  Bytes mine;
  Messages in;
};

}  // namespace

std::uint64_t exercise(Group& group, int rounds, std::size_t large) {
  std::uint64_t hash = 1;
  const auto add = [&](const Bytes& bytes) {
    hash = mix(hash + bytes.size());
    for (std::byte b : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  };
  const std::int64_t me = group.rank().value, world = group.size();
  for (int round = 0; round <= rounds; ++round) {
    const std::size_t fixed = round == rounds ? large : 0;
    AllToAll first(group, 0, round, fixed);
    group.all_to_all(sent(first.out), received(first.in));
    std::ranges::for_each(first.in, add);

    AllGather second(group, 1, round, fixed);
    group.all_gather(second.mine, received(second.in));
    std::ranges::for_each(second.in, add);

    const std::int64_t root = round % world;
    const std::uint64_t key = key_of(2, round, root, 0);
    Bytes buffer = pattern(me == root ? key : ~key, size_of(key, fixed));
    group.broadcast(Rank(root), buffer);
    add(buffer);
    group.barrier();

    // Three that overlap, and one that does not in the middle of them.
    AllToAll a(group, 3, round, fixed), c(group, 6, round, fixed);
    AllGather b(group, 4, round, fixed), between(group, 5, round, fixed);
    const auto operation_a = group.begin_all_to_all(sent(a.out), received(a.in));
    const auto operation_b = group.begin_all_gather(b.mine, received(b.in));
    group.all_gather(between.mine, received(between.in));
    const auto operation_c = group.begin_all_to_all(sent(c.out), received(c.in));
    operation_a->finish();
    std::ranges::for_each(a.in, add);
    operation_b->finish();
    operation_c->finish();
    for (const Messages* messages : {&b.in, &between.in, &c.in})
      std::ranges::for_each(*messages, add);
  }
  return hash;
}

}  // namespace lockstep::comm
