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

std::uint64_t key_of(int verb, int round, std::int64_t sender, std::int64_t receiver) {
  return mix(mix(mix(mix(static_cast<std::uint64_t>(verb)) + static_cast<std::uint64_t>(round)) +
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
    std::vector<Bytes> out, in;
    for (std::int64_t r = 0; r < world; ++r) {
      const std::uint64_t to = key_of(0, round, me, r), from = key_of(0, round, r, me);
      out.push_back(pattern(to, size_of(to, fixed)));
      in.emplace_back(size_of(from, fixed));
    }
    group.all_to_all(std::vector<ByteView>(out.begin(), out.end()),
                     std::vector<MutableByteView>(in.begin(), in.end()));
    std::ranges::for_each(in, add);

    const std::uint64_t mine = key_of(1, round, me, 0);
    for (std::int64_t r = 0; r < world; ++r)
      in[static_cast<std::size_t>(r)].assign(size_of(key_of(1, round, r, 0), fixed), std::byte{0});
    group.all_gather(pattern(mine, size_of(mine, fixed)),
                     std::vector<MutableByteView>(in.begin(), in.end()));
    std::ranges::for_each(in, add);

    const std::int64_t root = round % world;
    const std::uint64_t key = key_of(2, round, root, 0);
    Bytes buffer = pattern(me == root ? key : ~key, size_of(key, fixed));
    group.broadcast(Rank(root), buffer);
    add(buffer);
    group.barrier();
  }
  return hash;
}

}  // namespace lockstep::comm
