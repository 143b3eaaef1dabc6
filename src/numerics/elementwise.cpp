#include "lockstep/numerics/elementwise.h"

#include <algorithm>
#include <atomic>

#include "lockstep/numerics/parallel.h"
#include "numerics/elementwise_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kGrain = 16384;         // elements of cheap operations
constexpr std::int64_t kFunctionGrain = 2048;  // of those that evaluate functions

const ElementwiseKernels& kernels() {
  return elementwise_kernels(selected_isa());
}

// Rows of about kGrain elements.
std::int64_t row_grain(std::int64_t cols) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cols));
}

}  // namespace

void unary(Unary op, std::int64_t n, const float* x, float* out) {
  const auto kernel = kernels().unary[static_cast<int>(op)];
  parallel_for(n, kFunctionGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, x + begin, out + begin);
  });
}

void unary_backward(Unary op, std::int64_t n, const float* x, const float* dy, float* out) {
  const auto kernel = kernels().unary_backward[static_cast<int>(op)];
  parallel_for(n, kFunctionGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, x + begin, dy + begin, out + begin);
  });
}

void leaky_relu(std::int64_t n, float slope, const float* x, float* out) {
  const auto kernel = kernels().leaky_relu;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, slope, x + begin, out + begin);
  });
}

void leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy, float* out) {
  const auto kernel = kernels().leaky_relu_backward;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, slope, x + begin, dy + begin, out + begin);
  });
}

void binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) {
  const auto kernel = kernels().binary[static_cast<int>(op)];
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, a + begin, b + begin, out + begin);
  });
}

void scale(std::int64_t n, float factor, const float* x, float* out) {
  const auto kernel = kernels().scale;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, factor, x + begin, out + begin);
  });
}

void scale_add(std::int64_t n, float factor, const float* x, const float* y, float* out) {
  const auto kernel = kernels().scale_add;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, factor, x + begin, y + begin, out + begin);
  });
}

void combine(std::int64_t n, float a, const float* x, float b, const float* y, float* out) {
  const auto kernel = kernels().combine;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, a, x + begin, b, y + begin, out + begin);
  });
}

void add_row_vector(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                    float* out) {
  const auto kernel = kernels().binary[static_cast<int>(Binary::kAdd)];
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernel(cols, x + row * cols, v, out + row * cols);
    }
  });
}

void scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v, float* out) {
  const auto kernel = kernels().scale;
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernel(cols, v[row], x + row * cols, out + row * cols);
    }
  });
}

void add_channel_bias(std::int64_t n, std::int64_t spatial, std::int64_t c, const float* x,
                      const float* e, float* out) {
  const auto kernel = kernels().binary[static_cast<int>(Binary::kAdd)];
  parallel_for(n * spatial, row_grain(c), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernel(c, x + row * c, e + row / spatial * c, out + row * c);
    }
  });
}

bool all_finite(std::int64_t n, const float* x) {
  const auto kernel = kernels().all_finite;
  std::atomic<bool> finite{true};
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (!kernel(end - begin, x + begin)) finite = false;
  });
  return finite;
}

void clamp(std::int64_t n, float low, float high, const float* x, float* out) {
  const auto kernel = kernels().clamp;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, low, high, x + begin, out + begin);
  });
}

void from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    from_bytes_range(end - begin, bytes + begin, out + begin);
  });
}

void to_bytes(std::int64_t n, const float* x, std::uint8_t* out) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    to_bytes_range(end - begin, x + begin, out + begin);
  });
}

}  // namespace lockstep::numerics
