#include "lockstep/numerics/stream.h"

#include "lockstep/core/bytes.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::numerics {

Stream stream(std::uint64_t seed, std::string_view name) {
  Bytes text;
  put_u64_le(text, seed);
  const ByteView bytes = as_bytes(name);
  text.insert(text.end(), bytes.begin(), bytes.end());
  const hash::Digest digest = hash::sha256(text);
  return {{get_u32_le(digest.view().subspan(0, 4)), get_u32_le(digest.view().subspan(4, 4))}, 0};
}

}  // namespace lockstep::numerics
