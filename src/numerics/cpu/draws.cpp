
#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/spec/normal.h"
#include "numerics/cpu/elementwise_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kChunk = 1024;  // elements made at a time; a multiple of 4
constexpr std::int64_t kGrain = 4096;

// Elements [begin, end) of a draw; begin is a multiple of 4.
void bits_range(const Stream& stream, std::uint64_t position, std::int64_t begin, std::int64_t end,
                std::uint32_t* out) {
  for (std::int64_t i = begin; i < end; i += 4) {
    const auto block = static_cast<std::uint32_t>(i / 4);
    const PhiloxBlock words = block_of(stream, position, block);
    const std::int64_t count = std::min<std::int64_t>(4, end - i);
    for (std::int64_t j = 0; j < count; ++j)
      out[i - begin + j] = words[static_cast<std::size_t>(j)];
  }
}

// `pairs` Box-Muller pairs: bits of 2 * pairs elements to normals.
void box_muller(const ElementwiseKernels& kernels, const std::uint32_t* bits, std::int64_t pairs,
                float* out) {
  float radius[kChunk / 2], angle[kChunk / 2], wave[kChunk / 2];
  for (std::int64_t i = 0; i < pairs; ++i) {
    radius[i] = 1.0f - uniform(bits[2 * i]);
    angle[i] = uniform(bits[2 * i + 1]) * kTwoPi;
  }
  kernels.unary[static_cast<int>(Unary::kLog)](pairs, radius, radius);
  kernels.scale(pairs, -2.0f, radius, radius);
  kernels.unary[static_cast<int>(Unary::kSqrt)](pairs, radius, radius);
  kernels.unary[static_cast<int>(Unary::kCos)](pairs, angle, wave);
  for (std::int64_t i = 0; i < pairs; ++i) out[2 * i] = radius[i] * wave[i];
  kernels.unary[static_cast<int>(Unary::kSin)](pairs, angle, wave);
  for (std::int64_t i = 0; i < pairs; ++i) out[2 * i + 1] = radius[i] * wave[i];
}

// body(row, its first element, elements) for all elements of draws of n elements, one a row.
template <class Body>
void in_chunks(Cpu& cpu, std::int64_t rows, std::int64_t n, const Body& body) {
  require_drawable(n);
  const std::int64_t chunks = (n + kChunk - 1) / kChunk;  // of a row
  cpu.parallel_for(rows * chunks, kGrain / kChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = i / chunks, at = i % chunks * kChunk;
      body(row, at, std::min(kChunk, n - at));
    }
  });
}

}  // namespace

void Cpu::fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
                    std::uint32_t* out) {
  require_drawable(n);
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    bits_range(stream, position, begin, end, out + begin);
  });
}

void Cpu::fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n, float* out) {
  require_drawable(n);
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t bits[kChunk];
    for (std::int64_t at = begin; at < end; at += kChunk) {
      const std::int64_t count = std::min(kChunk, end - at);
      bits_range(stream, position, at, at + count, bits);
      for (std::int64_t i = 0; i < count; ++i) out[at + i] = uniform(bits[i]);
    }
  });
}

void Cpu::fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
                      float* out) {
  const ElementwiseKernels& kernels = elementwise_kernels(isa());
  in_chunks(*this, rows, n, [&](std::int64_t row, std::int64_t at, std::int64_t count) {
    std::uint32_t bits[kChunk];
    float normals[kChunk];
    const std::int64_t even = (count + 1) / 2 * 2;  // the last pair may be half used
    bits_range(stream, first + static_cast<std::uint64_t>(row), at, at + even, bits);
    box_muller(kernels, bits, even / 2, normals);
    std::copy(normals, normals + count, out + row * n + at);
  });
}

void Cpu::fill_mask(const Stream& stream, std::uint64_t first, std::int64_t rows, std::int64_t n,
                    float rate, float kept, float* out) {
  in_chunks(*this, rows, n, [&](std::int64_t row, std::int64_t at, std::int64_t count) {
    std::uint32_t bits[kChunk];
    bits_range(stream, first + static_cast<std::uint64_t>(row), at, at + count, bits);
    float* const mask = out + row * n + at;
    for (std::int64_t k = 0; k < count; ++k) mask[k] = uniform(bits[k]) < rate ? 0.0F : kept;
  });
}

}  // namespace lockstep::numerics
