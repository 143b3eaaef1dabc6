// All 2^32 floats through each function that has a kernel of more than one instruction, and as
// numerators of divisions, on this machine's GPU and on its CPU (`numerics_functions_all` compares
// the first six with exact values there):
//   functions_cuda [--every N]
// Prints a line a function; ends with 1 if any result differs, with 4 without a GPU. --every N:
// only every N-th float [16 / CPUs, at least 1].
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/core/cpus.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"

namespace lockstep::numerics {
namespace {

constexpr std::pair<const char*, Unary> kFunctions[] = {
    {"exp", Unary::kExp},          {"log", Unary::kLog},     {"sin", Unary::kSin},
    {"cos", Unary::kCos},          {"tanh", Unary::kTanh},   {"erf", Unary::kErf},
    {"sqrt", Unary::kSqrt},        {"rsqrt", Unary::kRsqrt}, {"sigmoid", Unary::kSigmoid},
    {"silu", Unary::kSilu},        {"gelu", Unary::kGelu},   {"gelu_tanh", Unary::kGeluTanh},
    {"softplus", Unary::kSoftplus}};
constexpr std::size_t kDivision = std::size(kFunctions);  // behind these

// Any float for any other: an odd factor permutes the bits.
float divisor_of(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) * 0x9e3779b1U + 0x7f4a7c15U);
}

class Comparison {
 public:
  explicit Comparison(Gpu gpu) : gpu_(std::move(gpu)) {
    for (float** each : {&x_, &y_, &out_})
      *each = static_cast<float*>(gpu_.memory->take(kChunk * sizeof(float)));
  }
  ~Comparison() {
    for (float* each : {x_, y_, out_}) gpu_.memory->give_back(each);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // Of the floats whose bits are a multiple of `step`.
  bool all_same(std::uint64_t step) {
    const std::uint64_t count = ((std::uint64_t{1} << 32) + step - 1) / step;
    for (std::uint64_t first = 0; first < count; first += kChunk) {
      numerators_.resize(std::min<std::uint64_t>(kChunk, count - first));
      for (std::size_t i = 0; i < numerators_.size(); ++i)
        numerators_[i] = std::bit_cast<float>(static_cast<std::uint32_t>((first + i) * step));
      chunk();
    }
    bool same = true;
    for (std::size_t f = 0; f <= kDivision; ++f) {
      std::printf("%s: %llu floats, %llu differ%s\n", name_of(f),
                  static_cast<unsigned long long>(count),
                  static_cast<unsigned long long>(wrong_[f].count), wrong_[f].first.c_str());
      same = same && wrong_[f].count == 0;
    }
    return same;
  }

 private:
  static constexpr std::size_t kChunk = std::size_t{1} << 22;

  struct Wrong {
    std::uint64_t count = 0;
    std::string first;
  };

  void chunk() {
    const std::size_t n = numerators_.size(), bytes = n * sizeof(float);
    divisors_.resize(n);
    std::ranges::transform(numerators_, divisors_.begin(), divisor_of);
    gpu_.memory->from_host(bytes, numerators_.data(), x_);
    gpu_.memory->from_host(bytes, divisors_.data(), y_);
    for (std::size_t f = 0; f <= kDivision; ++f) {
      call(*gpu_.kernels, f, n, x_, y_, out_);
      wanted_.resize(n);
      call(cpu_, f, n, numerators_.data(), divisors_.data(), wanted_.data());
      found_.resize(n);
      gpu_.memory->to_host(bytes, out_, found_.data());
      compare(f, wrong_[f]);
    }
  }

  static void call(Device& device, std::size_t f, std::size_t n, const float* x, const float* y,
                   float* out) {
    const auto count = static_cast<std::int64_t>(n);
    if (f < kDivision)
      device.unary(kFunctions[f].second, count, x, out);
    else
      device.binary(Binary::kDivide, count, x, y, out);
  }

  static const char* name_of(std::size_t f) {
    return f < kDivision ? kFunctions[f].first : "divide";
  }

  void compare(std::size_t f, Wrong& wrong) {
    std::atomic<bool> same = true;
    const auto compare_piece = [&](std::int64_t begin, std::int64_t end) {
      const auto bytes = static_cast<std::size_t>(end - begin) * sizeof(float);
      if (std::memcmp(wanted_.data() + begin, found_.data() + begin, bytes) != 0) same = false;
    };
    cpu_.parallel_for(std::ssize(wanted_), 1 << 16, compare_piece);
    if (same) return;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (std::memcmp(&wanted_[i], &found_[i], sizeof(float)) == 0) continue;
      if (wrong.count++ > 0) continue;
      char text[120];
      std::snprintf(text, sizeof text, "; of %a (divided by %a): %a, and the CPU's is %a",
                    static_cast<double>(numerators_[i]), static_cast<double>(divisors_[i]),
                    static_cast<double>(found_[i]), static_cast<double>(wanted_[i]));
      wrong.first = text;
      std::fprintf(stderr, "%s differs%s\n", name_of(f), text);  // the end may be far
    }
  }

  Gpu gpu_;
  Cpu cpu_{usable_cpus(1)};
  float *x_ = nullptr, *y_ = nullptr, *out_ = nullptr;
  std::vector<float> numerators_, divisors_, wanted_, found_;
  Wrong wrong_[kDivision + 1];
};

}  // namespace
}  // namespace lockstep::numerics

int main(int argc, char** argv) try {
  using namespace lockstep;
  // The host computes as many: all of them on 16 CPUs, in a minute or two.
  const auto cpus = static_cast<std::uint64_t>(usable_cpus(1));
  std::uint64_t step = (16 + cpus - 1) / cpus;
  if (argc > 1) {
    step = argc == 3 && std::string(argv[1]) == "--every" ? std::strtoull(argv[2], nullptr, 10) : 0;
    if (step == 0) {
      std::fputs("usage: functions_cuda [--every N]\n", stderr);
      return static_cast<int>(Code::kUsage);
    }
  }
  return numerics::Comparison(numerics::open_gpu(0, 1)).all_same(step) ? 0 : 1;
} catch (const lockstep::Error& error) {
  std::fprintf(stderr, "functions_cuda: %s\n", error.what());
  return static_cast<int>(error.code());
} catch (const std::bad_alloc&) {
  std::fputs("functions_cuda: the GPU has no memory left\n", stderr);
  return 1;
}
