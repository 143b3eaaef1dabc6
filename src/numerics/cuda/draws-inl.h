// Private: random numbers for CUDA (philox.h), a thread a Philox block of four elements.
#pragma once

#include "lockstep/numerics/spec/normal.h"
#include "lockstep/numerics/spec/philox.h"
#include "numerics/cuda/capture-inl.h"
#include "numerics/cuda/elementwise-inl.h"

namespace lockstep::numerics::cuda {

// body(row, element, words): the four words of elements [element, element + 4) of a row's draw.
template <class Gpu, class Body>
void for_each_block(Gpu& gpu, const Stream& stream, std::uint64_t first, std::int64_t rows,
                    std::int64_t n, const Body& body) {
  require_drawable(n);
  const std::int64_t blocks = (n + 3) / 4;
  const auto drawn = [=, moved = Moved(gpu)] LOCKSTEP_DEVICE(std::int64_t i) {
    const std::int64_t row = i / blocks, block = i % blocks;
    body(row, block * 4,
         block_of(stream, moved(first + static_cast<std::uint64_t>(row)),
                  static_cast<std::uint32_t>(block)));
  };
  gpu.launch(grid_of(rows * blocks), Each<decltype(drawn)>{rows * blocks, drawn});
}

struct Bits {
  std::int64_t n;
  std::uint32_t* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t, std::int64_t element,
                                  const PhiloxBlock& words) const {
    for (int j = 0; j < 4 && element + j < n; ++j) out[element + j] = words.word[j];
  }
};
struct Uniform {
  std::int64_t n;
  float* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t, std::int64_t element,
                                  const PhiloxBlock& words) const {
    for (int j = 0; j < 4 && element + j < n; ++j) out[element + j] = uniform(words.word[j]);
  }
};
struct Normal {
  std::int64_t n;
  float* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t row, std::int64_t element,
                                  const PhiloxBlock& words) const {
    float* const to = out + row * n;
    for (int j = 0; j < 4 && element + j < n; j += 2) {
      const Normals pair = normals(words.word[j], words.word[j + 1]);
      to[element + j] = canonical(pair.even);
      if (element + j + 1 < n) to[element + j + 1] = canonical(pair.odd);
    }
  }
};
struct Mask {
  std::int64_t n;
  float rate, kept;
  float* out;
  LOCKSTEP_DEVICE void operator()(std::int64_t row, std::int64_t element,
                                  const PhiloxBlock& words) const {
    for (int j = 0; j < 4 && element + j < n; ++j)
      out[row * n + element + j] = uniform(words.word[j]) < rate ? 0.0F : kept;
  }
};

template <class Gpu>
void Device<Gpu>::fill_bits(const Stream& stream, std::uint64_t position, std::int64_t n,
                            std::uint32_t* out) {
  for_each_block(*gpu_, stream, position, 1, n, Bits{n, out});
}
template <class Gpu>
void Device<Gpu>::fill_uniform(const Stream& stream, std::uint64_t position, std::int64_t n,
                               float* out) {
  for_each_block(*gpu_, stream, position, 1, n, Uniform{n, out});
}
template <class Gpu>
void Device<Gpu>::fill_normal(const Stream& stream, std::uint64_t first, std::int64_t rows,
                              std::int64_t n, float* out) {
  for_each_block(*gpu_, stream, first, rows, n, Normal{n, out});
}
template <class Gpu>
void Device<Gpu>::fill_mask(const Stream& stream, std::uint64_t first, std::int64_t rows,
                            std::int64_t n, float rate, float kept, float* out) {
  for_each_block(*gpu_, stream, first, rows, n, Mask{n, rate, kept, out});
}

}  // namespace lockstep::numerics::cuda
