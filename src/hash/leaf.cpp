#include "lockstep/hash/leaf.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "hash/leaf_pairs.h"
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

__attribute__((target("avx512f"))) inline __m512i product_of_pairs(__m512i words) {
  constexpr __mmask8 kAll = 0xff;  // the forms without one make GCC 12 warn
  return _mm512_maskz_mul_epu32(kAll, words, _mm512_maskz_srli_epi64(kAll, words, 32));
}

// More sums side by side are no faster: the multiplications are what takes the time.
__attribute__((target("avx512f"))) void add_pairs_avx512(const std::byte* data,
                                                         const std::uint32_t* key,
                                                         std::size_t pairs, Leaf& leaf) {
  __m512i a = _mm512_setzero_si512();
  __m512i b = _mm512_setzero_si512();
  std::size_t p = 0;
  for (; p + 8 <= pairs; p += 8) {
    const __m512i x = _mm512_loadu_si512(data + 8 * p);
    const __m512i k_a = _mm512_loadu_si512(key + 2 * p);
    const __m512i k_b = _mm512_loadu_si512(key + 2 * p + kLeafShift);
    a = _mm512_add_epi64(a, product_of_pairs(_mm512_add_epi32(x, k_a)));
    b = _mm512_add_epi64(b, product_of_pairs(_mm512_add_epi32(x, k_b)));
  }
  alignas(64) std::uint64_t sums[16];
  _mm512_store_si512(sums, a);
  _mm512_store_si512(sums + 8, b);
  for (int i = 0; i < 8; ++i) {
    leaf.a += sums[i];
    leaf.b += sums[8 + i];
  }
  add_pairs_portable(data + 8 * p, key + 2 * p, pairs - p, leaf);
}
#endif

AddPairs best_add_pairs() {
  return ways_to_add_pairs().back().add;
}

}  // namespace

const LeafKeys& leaf_keys() {
  static const LeafKeys keys = make_keys();
  return keys;
}

std::vector<WayToAddPairs> ways_to_add_pairs() {
  std::vector<WayToAddPairs> ways = {{"portable", add_pairs_portable}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) ways.push_back({"AVX2", add_pairs_avx2});
  if (__builtin_cpu_supports("avx512f")) ways.push_back({"AVX-512", add_pairs_avx512});
#endif
  return ways;
}

void LeafSum::add(ByteView piece) {
  LOCKSTEP_ASSERT(bytes_ % 8 == 0 && bytes_ + piece.size() <= kTileBytes,
                  std::to_string(bytes_ + piece.size()) + " bytes in a tile");
  static const AddPairs add_pairs = best_add_pairs();
  const std::uint32_t* const key = leaf_keys().words.data() + bytes_ / 4;
  const std::size_t pairs = piece.size() / 8;
  add_pairs(piece.data(), key, pairs, sum_);
  if (const std::size_t rest = piece.size() % 8; rest != 0) {
    std::byte padded[8] = {};
    std::memcpy(padded, piece.data() + 8 * pairs, rest);
    add_pairs_portable(padded, key + 2 * pairs, 1, sum_);
  }
  bytes_ += piece.size();
}

Leaf LeafSum::finish() const {
  const LeafKeys& keys = leaf_keys();
  return {sum_.a + bytes_ * keys.length_a, sum_.b + bytes_ * keys.length_b};
}

Leaf leaf_hash(ByteView tile) {
  LeafSum sum;
  sum.add(tile);
  return sum.finish();
}

void leaf_hashes(ByteView tensor, std::span<Leaf> out) {
  LOCKSTEP_ASSERT(out.size() == leaf_count(tensor.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t begin = i * kTileBytes;
    out[i] = leaf_hash(tensor.subspan(begin, std::min(kTileBytes, tensor.size() - begin)));
  }
}

}  // namespace lockstep::hash
