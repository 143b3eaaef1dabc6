#include "lockstep/hash/leaf.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/hash/sha256.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lockstep::hash {
namespace {

LeafKeys make_keys() {
  const auto digest = [](std::uint64_t i) {
    Bytes counter;
    put_u64_le(counter, i);
    return Sha256().update(as_bytes("lockstep leaf keys 0")).update(counter).finish();
  };
  LeafKeys keys{};
  const std::size_t count = keys.words.size() / 8;
  for (std::size_t i = 0; i < count; ++i) {
    const Digest words = digest(i);
    for (std::size_t j = 0; j < 8; ++j) {
      keys.words[8 * i + j] = get_u32_le(words.view().subspan(4 * j, 4));
    }
  }
  const Digest lengths = digest(count);
  keys.length_a = get_u64_le(lengths.view().first(8)) | 1;  // odd: n*c is zero for no length but 0
  keys.length_b = get_u64_le(lengths.view().subspan(8, 8)) | 1;
  return keys;
}

// Adds the pairs [0, pairs) of `data` to `leaf`.
using AddPairs = void (*)(const std::byte* data, const std::uint32_t* key, std::size_t pairs,
                          Leaf& leaf);

// A little-endian word, on any machine.
std::uint32_t word(const std::byte* at) {
  std::uint32_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return std::endian::native == std::endian::little ? value : __builtin_bswap32(value);
}

void add_pairs_portable(const std::byte* data, const std::uint32_t* key, std::size_t pairs,
                        Leaf& leaf) {
  for (std::size_t p = 0; p < pairs; ++p) {
    const std::uint32_t x[2] = {word(data + 8 * p), word(data + 8 * p + 4)};
    const std::uint32_t* k = key + 2 * p;
    leaf.a += std::uint64_t{x[0] + k[0]} * std::uint64_t{x[1] + k[1]};
    leaf.b += std::uint64_t{x[0] + k[kLeafShift]} * std::uint64_t{x[1] + k[kLeafShift + 1]};
  }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) inline __m256i load(const void* at) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(at));
}

__attribute__((target("avx2"))) inline __m256i product_of_pairs(__m256i words) {
  return _mm256_mul_epu32(words, _mm256_srli_epi64(words, 32));
}

__attribute__((target("avx2"))) inline std::uint64_t sum_of_lanes(__m256i sums) {
  alignas(32) std::uint64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

__attribute__((target("avx2"))) void add_pairs_avx2(const std::byte* data, const std::uint32_t* key,
                                                    std::size_t pairs, Leaf& leaf) {
  __m256i a = _mm256_setzero_si256();
  __m256i b = _mm256_setzero_si256();
  std::size_t p = 0;
  for (; p + 4 <= pairs; p += 4) {
    const __m256i x = load(data + 8 * p);
    const __m256i k_a = load(key + 2 * p);
    const __m256i k_b = load(key + 2 * p + kLeafShift);
    a = _mm256_add_epi64(a, product_of_pairs(_mm256_add_epi32(x, k_a)));
    b = _mm256_add_epi64(b, product_of_pairs(_mm256_add_epi32(x, k_b)));
  }
  leaf.a += sum_of_lanes(a);
  leaf.b += sum_of_lanes(b);
  add_pairs_portable(data + 8 * p, key + 2 * p, pairs - p, leaf);
}
#endif

AddPairs best_add_pairs() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return add_pairs_avx2;
#endif
  return add_pairs_portable;
}

}  // namespace

const LeafKeys& leaf_keys() {
  static const LeafKeys keys = make_keys();
  return keys;
}

Leaf leaf_hash(ByteView tile) {
  LOCKSTEP_ASSERT(tile.size() <= kTileBytes, std::to_string(tile.size()) + " bytes in a tile");
  static const AddPairs add_pairs = best_add_pairs();
  const LeafKeys& keys = leaf_keys();
  const std::size_t pairs = tile.size() / 8;
  Leaf leaf{tile.size() * keys.length_a, tile.size() * keys.length_b};
  add_pairs(tile.data(), keys.words.data(), pairs, leaf);
  if (const std::size_t rest = tile.size() % 8; rest != 0) {
    std::byte padded[8] = {};
    std::memcpy(padded, tile.data() + 8 * pairs, rest);
    add_pairs_portable(padded, keys.words.data() + 2 * pairs, 1, leaf);
  }
  return leaf;
}

void leaf_hashes(ByteView tensor, std::span<Leaf> out) {
  LOCKSTEP_ASSERT(out.size() == leaf_count(tensor.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t begin = i * kTileBytes;
    out[i] = leaf_hash(tensor.subspan(begin, std::min(kTileBytes, tensor.size() - begin)));
  }
}

}  // namespace lockstep::hash
