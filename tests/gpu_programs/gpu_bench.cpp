// Times kernels on this machine's GPU and prints one JSON object a line: kernel, shape, seconds of
// a run and what it computes, in floating-point operations or in bytes; of products of integers
// also seconds of rounding, half of both operands'. tools/gpu-check runs it.
//   gpu_bench [--quick] [--once]
// --quick: small sizes. --once: each kernel runs once, for a profiler. Without a GPU it ends
// with 4.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "bench/stretch.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cuda.h"

namespace lockstep::numerics {
namespace {

class Bench {
 public:
  Bench(Gpu gpu, bool once) : gpu_(std::move(gpu)), once_(once) {}
  ~Bench() {
    for (void* memory : taken_) gpu_.memory->give_back(memory);
  }

  Device& device() { return *gpu_.kernels; }
  // Values like those of training: numbers of mean 0.
  float* floats(std::int64_t n) {
    float* const all = take<float>(n);
    device().fill_normal({.key = {1, 2}, .micro = 3}, 0, 1, n, all);
    return all;
  }
  template <class T>
  T* take(std::int64_t n) {
    taken_.push_back(gpu_.memory->take(static_cast<std::size_t>(n) * sizeof(T)));
    return static_cast<T*>(taken_.back());
  }

  double seconds_of(const std::function<void()>& run) {
    const auto wait = [this] { this->wait(); };
    if (once_) wait();
    return once_ ? bench::seconds_of_stretch(1, run, wait, monotonic_seconds)
                 : bench::seconds_of_run(run, wait, monotonic_seconds);
  }

  // `work`: "flops" or "bytes" of one run. rounding: seconds that a product needs beforehand.
  void time(const std::string& kernel, const std::string& shape, const char* work, double amount,
            const std::function<void()>& run, double rounding = 0) {
    const double seconds = seconds_of(run);
    std::printf(R"({"kernel": "%s", "shape": "%s", "seconds": %.9f, "%s": %.0f)", kernel.c_str(),
                shape.c_str(), seconds, work, amount);
    if (rounding > 0) std::printf(R"(, "rounding": %.9f)", rounding);
    std::puts("}");
    std::fflush(stdout);
    for (void* memory : taken_) gpu_.memory->give_back(memory);
    taken_.clear();
  }

 private:
  void wait() {
    float one = 0;
    if (flag_ == nullptr) flag_ = static_cast<float*>(gpu_.memory->take(sizeof one));
    gpu_.memory->to_host(sizeof one, flag_, &one);
  }

  Gpu gpu_;
  const bool once_;
  float* flag_ = nullptr;
  std::vector<void*> taken_;
};

void product(Bench& bench, std::int64_t n) {
  const float *a = bench.floats(n * n), *b = bench.floats(n * n);
  float* const c = bench.take<float>(n * n);
  const auto amount =
      2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  bench.time("gemm", std::to_string(n), "flops", amount, [&, n] {
    bench.device().gemm(1, n, n, n, {a, n, 1, 0}, {b, n, 1, 0}, nullptr, {c, n, 0});
  });
}

std::string text_of(const ConvShape& s) {
  return std::to_string(s.n) + "x" + std::to_string(s.h) + "x" + std::to_string(s.w) + "x" +
         std::to_string(s.in) + " to " + std::to_string(s.out) + " by " + std::to_string(s.kh);
}

void convolution(Bench& bench, const ConvShape& s, bool integer) {
  const std::int64_t pixels = s.n * s.h * s.w, results = s.n * s.out_h() * s.out_w(),
                     weights = s.kh * s.kw * s.in * s.out;
  const double amount = 2.0 * static_cast<double>(results) * static_cast<double>(weights);
  const LaneBlocks lanes{.samples_per_lane = s.n / 8, .lanes = {8}};
  for (int pass = 0; pass < 3; ++pass) {
    const float *x = bench.floats(pixels * s.in), *w = bench.floats(weights),
                *dy = bench.floats(results * s.out);
    auto* const y =
        bench.take<float>(std::max({results * s.out, pixels * s.in, weights * lanes.partials()}));
    // Each rounded tensor is an operand of two products.
    double rounding = 0;
    const auto rounded = [&](bool used, const float* from, std::int64_t groups, std::int64_t rows,
                             std::int64_t c) {
      auto* const q = bench.take<std::int16_t>(groups * rows * c);
      auto* const exponents = bench.take<std::int32_t>(groups);
      if (used)
        rounding += bench.seconds_of([&] {
          bench.device().round_groups(groups, rows, c, Sides<const float>(from), q, exponents);
        }) / 2;
      return Rounded{q, exponents};
    };
    const char* const names[] = {"conv2d", "conv2d_input_grad", "conv2d_weight_grad"};
    const std::string name = std::string(integer ? "integer_" : "") + names[pass];
    Device& device = bench.device();
    if (integer) {
      const Rounded qx = rounded(pass != 1, x, s.n, s.h * s.w, s.in),
                    qw = rounded(pass != 2, w, 1, s.kh * s.kw * s.in, s.out),
                    qdy = rounded(pass != 0, dy, s.n, s.out_h() * s.out_w(), s.out);
      bench.time(
          name, text_of(s), "flops", amount,
          [&] {
            if (pass == 0) device.integer_conv2d(s, qx, qw, {nullptr}, y);
            if (pass == 1) device.integer_conv2d_input_grad(s, qdy, qw, nullptr, y);
            if (pass == 2) device.integer_conv2d_weight_grad(s, lanes, qx, qdy, y);
          },
          rounding);
    } else {
      bench.time(name, text_of(s), "flops", amount, [&] {
        if (pass == 0) device.conv2d(s, x, w, {nullptr}, y);
        if (pass == 1) device.conv2d_input_grad(s, dy, w, nullptr, y);
        if (pass == 2) device.conv2d_weight_grad(s, lanes, x, dy, y);
      });
    }
  }
}

void rounding(Bench& bench, std::int64_t groups, std::int64_t each) {
  const float* const x = bench.floats(groups * each);
  auto* const q = bench.take<std::int16_t>(groups * each);
  auto* const exponents = bench.take<std::int32_t>(groups);
  bench.time("round_groups", std::to_string(groups) + "x" + std::to_string(each), "bytes",
             static_cast<double>(groups * each) * 10, [&] {
               bench.device().round_groups(groups, 1, each, Sides<const float>(x), q, exponents);
             });
}

void norm(Bench& bench, const GroupNormShape& s) {
  const std::int64_t n = s.n * s.spatial * s.c;
  const LaneBlocks lanes{.samples_per_lane = s.n / 8, .lanes = {8}};
  const std::string shape =
      std::to_string(s.n) + "x" + std::to_string(s.spatial) + "x" + std::to_string(s.c);
  for (const bool backward : {false, true}) {
    const float *x = bench.floats(n), *gamma = bench.floats(s.c), *beta = bench.floats(s.c);
    float *const y = bench.take<float>(n), *const mean = bench.take<float>(s.n * s.groups),
                 *const rstd = bench.take<float>(s.n * s.groups);
    const auto forward = [&] {
      bench.device().group_norm(s, Sides<const float>(x), gamma, beta, y, mean, rstd);
    };
    if (!backward) {
      bench.time("group_norm_silu", shape, "bytes", static_cast<double>(n) * 8, forward);
      continue;
    }
    forward();
    const float* const dy = bench.floats(n);
    float *const dgamma = bench.take<float>(s.c), *const dbeta = bench.take<float>(s.c);
    bench.time("group_norm_silu_backward", shape, "bytes", static_cast<double>(n) * 12, [&] {
      bench.device().group_norm_backward(s, lanes, Sides<const float>(x), gamma, beta, mean, rstd,
                                         dy, Sides<float>(y), dgamma, dbeta);
    });
  }
}

// The gradient of a bias.
void column_sums(Bench& bench, std::int64_t samples, std::int64_t rows, std::int64_t cols) {
  const LaneBlocks lanes{.samples_per_lane = samples / 8, .lanes = {8}};
  const float* const x = bench.floats(samples * rows * cols);
  float* const out = bench.take<float>(cols);
  bench.time("lane_column_sums",
             std::to_string(samples) + "x" + std::to_string(rows) + "x" + std::to_string(cols),
             "bytes", static_cast<double>(samples * rows * cols) * 4,
             [&] { bench.device().lane_column_sums(lanes, rows, cols, x, out); });
}

void update(Bench& bench, std::int64_t n) {
  UpdatedTensor tensor{.n = n,
                       .g = bench.floats(n),
                       .p = {bench.floats(n)},
                       .slots = {{bench.floats(n)}, {bench.floats(n)}},
                       .averages = {{{bench.floats(n)}, 0.01F}}};
  std::vector<hash::Leaf> leaves(static_cast<std::size_t>(8 * (n + kTileFloats - 1) / kTileFloats));
  hash::Leaf* next = leaves.data();
  const auto hashed = [&](Updated& one) {
    one.before = next;
    one.after = next + (n + kTileFloats - 1) / kTileFloats;
    next = one.after + (n + kTileFloats - 1) / kTileFloats;
  };
  hashed(tensor.p);
  for (Updated& slot : tensor.slots) hashed(slot);
  hashed(tensor.averages[0].e);
  const AdamW rule{0.9F, 0.1F, 0.999F, 0.001F, 1e-8F, 0.01F, 1.5F, 0.999F};
  bench.time("update_adamw_average_hashes", std::to_string(n), "bytes", static_cast<double>(n) * 36,
             [&] {
               bench.device().update(rule, {&tensor, 1})->finish();
             });
}

void functions(Bench& bench, std::int64_t n) {
  // exp and gelu begin in pairs of binary32, log and sin are binary64 throughout.
  for (const auto& [name, function] : {std::pair{"exp", Unary::kExp},
                                       {"gelu", Unary::kGelu},
                                       {"log", Unary::kLog},
                                       {"sin", Unary::kSin}}) {
    const float* const x = bench.floats(n);
    float* const y = bench.take<float>(n);
    bench.time(name, std::to_string(n), "bytes", static_cast<double>(n) * 8,
               [&, function = function] { bench.device().unary(function, n, x, y); });
  }
}

void all(bool quick, bool once) {
  Bench bench(open_gpu(0, 1), once);
  const std::int64_t some = quick ? 16 : 128;
  for (const std::int64_t n : {1024, 2048, 4096, 8192})
    if (!quick || n <= 2048) product(bench, n);
  for (const bool integer : {false, true}) {
    convolution(bench, {some, 32, 32, 128, 128, 3, 3, 1, 1}, integer);
    convolution(bench, {some, 16, 16, 256, 256, 3, 3, 1, 1}, integer);
    convolution(bench, {some, 8, 8, 512, 512, 3, 3, 1, 1}, integer);
    // A linear layer: rows of few samples, since integer weight gradients are of a sample each.
    convolution(bench, {8, quick ? 128 : 512, 1, 4096, 4096, 1, 1, 1, 0}, integer);
  }
  rounding(bench, some, 32 * 32 * 128);
  norm(bench, {some, 32 * 32, 128, 32, 1e-5F, Activation::kSilu});
  for (const std::int64_t channels : {128, 256, 384})  // of gpu-unet.toml
    norm(bench, {some, 28 * 28, channels, 8, 1e-5F, Activation::kSilu});
  column_sums(bench, some, 28 * 28, 256);
  update(bench, quick ? 1 << 22 : 1 << 26);
  functions(bench, quick ? 1 << 22 : 1 << 26);
}

}  // namespace
}  // namespace lockstep::numerics

int main(int argc, char** argv) try {
  const std::vector<std::string> given(argv + 1, argv + argc);
  const auto has = [&](const char* word) { return std::ranges::find(given, word) != given.end(); };
  lockstep::numerics::all(has("--quick"), has("--once"));
} catch (const lockstep::Error& error) {
  std::fprintf(stderr, "gpu_bench: %s\n", error.what());
  return static_cast<int>(error.code());
} catch (const std::bad_alloc&) {
  std::fputs("gpu_bench: the GPU has no memory left\n", stderr);
  return 1;
}
