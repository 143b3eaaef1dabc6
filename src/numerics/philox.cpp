#include "lockstep/numerics/philox.h"

#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics {

PhiloxBlock philox(PhiloxKey key, PhiloxBlock counter) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

std::uint32_t draw_below(const Stream& stream, std::uint64_t position, int word,
                         std::uint32_t bound) {
  LOCKSTEP_ASSERT(bound >= 1 && word >= 0 && word < 4,
                  "word " + std::to_string(word) + ", bound " + std::to_string(bound));
  const PhiloxBlock words =
      philox(stream.key, {static_cast<std::uint32_t>(position),
                          static_cast<std::uint32_t>(position >> 32), 0, stream.micro});
  return static_cast<std::uint32_t>(
      (std::uint64_t{words[static_cast<std::size_t>(word)]} * bound) >> 32);
}

}  // namespace lockstep::numerics
