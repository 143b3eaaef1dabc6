
#include <algorithm>
#include <atomic>

#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/spec/clip.h"
#include "numerics/cpu/elementwise_kernels.h"

namespace lockstep::numerics {
namespace {

constexpr std::int64_t kGrain = 16384;         // elements of cheap operations
constexpr std::int64_t kFunctionGrain = 2048;  // of those that evaluate functions

// Rows of about kGrain elements.
std::int64_t row_grain(std::int64_t cols) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, cols));
}

}  // namespace

void Cpu::unary(Unary op, std::int64_t n, const float* x, float* out) {
  const auto kernel = elementwise_kernels(isa()).unary[static_cast<int>(op)];
  parallel_for(n, kFunctionGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, x + begin, out + begin);
  });
}

void Cpu::unary_backward(Unary op, std::int64_t n, const float* x, const float* dy, float* out) {
  const auto kernel = elementwise_kernels(isa()).unary_backward[static_cast<int>(op)];
  parallel_for(n, kFunctionGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, x + begin, dy + begin, out + begin);
  });
}

void Cpu::leaky_relu(std::int64_t n, float slope, const float* x, float* out) {
  const auto kernel = elementwise_kernels(isa()).leaky_relu;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, slope, x + begin, out + begin);
  });
}

void Cpu::leaky_relu_backward(std::int64_t n, float slope, const float* x, const float* dy,
                              float* out) {
  const auto kernel = elementwise_kernels(isa()).leaky_relu_backward;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, slope, x + begin, dy + begin, out + begin);
  });
}

void Cpu::binary(Binary op, std::int64_t n, const float* a, const float* b, float* out) {
  const auto kernel = elementwise_kernels(isa()).binary[static_cast<int>(op)];
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, a + begin, b + begin, out + begin);
  });
}

void Cpu::scale(std::int64_t n, float factor, const float* x, float* out) {
  const auto kernel = elementwise_kernels(isa()).scale;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, factor, x + begin, out + begin);
  });
}

void Cpu::scale_add(std::int64_t n, float factor, const float* x, const float* y, float* out) {
  const auto kernel = elementwise_kernels(isa()).scale_add;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, factor, x + begin, y + begin, out + begin);
  });
}

void Cpu::combine(std::int64_t n, float a, const float* x, float b, const float* y, float* out) {
  const auto kernel = elementwise_kernels(isa()).combine;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, a, x + begin, b, y + begin, out + begin);
  });
}

void Cpu::combine_rows(std::int64_t rows, std::int64_t cols, const float* a, const float* x,
                       const float* b, const float* y, float* out) {
  const auto kernel = elementwise_kernels(isa()).combine;
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * cols;
      kernel(cols, a[row], x + at, b[row], y + at, out + at);
    }
  });
}

void Cpu::scale_rows(std::int64_t rows, std::int64_t cols, const float* x, const float* v,
                     float* out) {
  if (rows == 1) return scale(cols, v[0], x, out);  // threads share a row
  const auto kernel = elementwise_kernels(isa()).scale;
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernel(cols, v[row], x + row * cols, out + row * cols);
    }
  });
}

void Cpu::add_outer(std::int64_t rows, std::int64_t cols, const float* u, const float* v,
                    const float* x, float* out) {
  const auto kernel = elementwise_kernels(isa()).scale_add;
  parallel_for(rows, row_grain(cols), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      kernel(cols, u[row], v, x + row * cols, out + row * cols);
    }
  });
}

std::size_t Cpu::first_non_finite(std::span<const std::span<const float>> tensors) {
  const auto kernel = elementwise_kernels(isa()).all_finite;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::span<const float> x = tensors[i];
    std::atomic<bool> finite{true};
    parallel_for(static_cast<std::int64_t>(x.size()), kGrain,
                 [&](std::int64_t begin, std::int64_t end) {
                   if (!kernel(end - begin, x.data() + begin)) finite = false;
                 });
    if (!finite) return i;
  }
  return tensors.size();
}

void Cpu::fill(std::int64_t n, float value, float* out) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, value);
  });
}

void Cpu::repeat(std::int64_t n, std::int64_t times, std::int64_t width, const float* x,
                 float* out) {
  parallel_for(n * times, row_grain(width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end;) {
      const std::int64_t i = row / times, last = std::min(end, (i + 1) * times);
      if (width == 1) std::fill(out + row, out + last, x[i]);
      for (std::int64_t to = row; width > 1 && to < last; ++to)
        std::copy_n(x + i * width, width, out + to * width);
      row = last;
    }
  });
}

void Cpu::clamp(std::int64_t n, float low, float high, const float* x, float* out) {
  const auto kernel = elementwise_kernels(isa()).clamp;
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(end - begin, low, high, x + begin, out + begin);
  });
}

void Cpu::clip_all(float limit, std::int64_t count, const float* squares,
                   std::span<const std::span<float>> tensors) {
  const float factor =
      spec::clip_factor(limit, norm_of({squares, static_cast<std::size_t>(count)}));
  if (factor == spec::kKept) return;
  for (const std::span<float> x : tensors) scale(std::ssize(x), factor, x.data(), x.data());
}

void Cpu::clamp_all(float low, float high, std::span<const std::span<float>> tensors) {
  for (const std::span<float> x : tensors) clamp(std::ssize(x), low, high, x.data(), x.data());
}

void Cpu::from_bytes(std::int64_t n, const std::uint8_t* bytes, float* out) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    from_bytes_range(end - begin, bytes + begin, out + begin);
  });
}

void Cpu::to_bytes(std::int64_t n, const float* x, std::uint8_t* out) {
  parallel_for(n, kGrain, [&](std::int64_t begin, std::int64_t end) {
    to_bytes_range(end - begin, x + begin, out + begin);
  });
}

}  // namespace lockstep::numerics
