#include "lockstep/numerics/philox.h"

#include <string>

#include "lockstep/core/error.h"

namespace lockstep::numerics {

void require_drawable(std::int64_t n) {
  constexpr std::int64_t kMost = std::int64_t{1}
                                 << 34;  // a word of the counter numbers blocks of 4
  LOCKSTEP_ASSERT(n >= 0, std::to_string(n));
  if (n > kMost)
    throw Error(Code::kUsage,
                "a tensor of " + std::to_string(n) + " elements: random numbers are drawn for " +
                    std::to_string(kMost) + " at most",
                "make the model smaller");
}

float draw_uniform(const Stream& stream, std::uint64_t position) {
  return uniform(bits_of(stream, position, 0));
}

std::uint32_t draw_below(const Stream& stream, std::uint64_t position, int word,
                         std::uint32_t bound) {
  LOCKSTEP_ASSERT(bound >= 1 && word >= 0 && word < 4,
                  "word " + std::to_string(word) + ", bound " + std::to_string(bound));
  return below(bits_of(stream, position, word), bound);
}

}  // namespace lockstep::numerics
