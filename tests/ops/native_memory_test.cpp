// What LibTorch's kernels take of memory is what a walk counts for them (ops/memory.h).
#include <ATen/core/Tensor.h>
#include <c10/core/CPUAllocator.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "lockstep/ops/device.h"
#include "lockstep/ops/memory.h"
#include "lockstep/ops/numerics.h"
#include "lockstep/ops/ops.h"
#include "ops/native.h"

namespace lockstep::ops {
namespace {

// Counts what LibTorch's tensors on the CPU take, while it lives.
class Taken final : public at::Allocator {
 public:
  Taken() : before_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, UINT8_MAX); }
  ~Taken() override { c10::SetCPUAllocator(before_, UINT8_MAX); }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  at::DataPtr allocate(std::size_t bytes) override {
    auto* const block = static_cast<char*>(std::aligned_alloc(64, (bytes / 64 + 2) * 64));
    new (block) Header{this, static_cast<std::int64_t>(bytes)};
    live_ += static_cast<std::int64_t>(bytes);
    peak = std::max(peak, live_);
    return {block + 64, block + 64, &release, at::kCPU};
  }
  at::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t n) const override {
    std::memcpy(to, from, n);
  }

  std::int64_t peak = 0;

 private:
  struct Header {
    Taken* owner;
    std::int64_t bytes;
  };
  static void release(void* data) {
    char* const block = static_cast<char*>(data) - 64;
    const auto* const header = reinterpret_cast<const Header*>(block);
    header->owner->live_ -= header->bytes;
    std::free(block);
  }

  at::Allocator* const before_;
  std::int64_t live_ = 0;
};

// LibTorch's kernels take about what is counted for them, results and what is beside them.
TEST(NativeMemory, OfProductsIsCounted) {
  const LaneBlocks lanes{.samples_per_lane = 2, .lanes = {1, 1}};
  constexpr std::int64_t kSamples = 4;
  const auto with = [&](const std::vector<std::vector<std::int64_t>>& sizes, const auto& op,
                        bool of_layer = true) {
    Tensors all;
    for (const auto& one : sizes) all.push_back(ops::empty(one));
    for (Tensor& one : all) device().fill(one.numel(), 0.5F, write(one));
    // As layers give activations and their gradients, not parameters; attention rounds its own.
    for (Tensor& one : all)
      if (native::rounds() && one.size(0) == kSamples && of_layer) one = native::rounded(one);
    return std::function<void()>([all, op] { op(all); });
  };
  using Make = std::function<std::function<void()>()>;
  const std::vector<std::pair<const char*, Make>> operations = {
      {"linear",
       [&] {
         return with({{4, 64, 96}, {2, 96, 80}},
                     [&](const Tensors& x) { native::linear(lanes, x[0], x[1], {}); });
       }},
      {"weight gradient",
       [&] {
         return with({{4, 64, 96}, {4, 64, 80}},
                     [&](const Tensors& x) { native::linear_weight_grad(lanes, x[0], x[1]); });
       }},
      {"conv2d",
       [&] {
         return with({{4, 16, 16, 32}, {2, 3, 3, 32, 48}}, [&](const Tensors& x) {
           native::conv2d(lanes, x[0], x[1], {}, {1, 1}, {});
         });
       }},
      {"attention",
       [&] {
         return with(
             {{4, 128, 48}}, [](const Tensors& x) { native::attention(x[0], 4, 0.25); }, false);
       }},
      {"attention backward", [&] {
         return with(
             {{4, 128, 48}, {4, 4, 128, 128}, {4, 128, 16}},
             [](const Tensors& x) { native::attention_backward(x[0], x[1], x[2], 0.25); }, false);
       }}};
  for (const Precision precision : {Precision::kFloat32, Precision::kBfloat16}) {
    const NumericsScope scope({.native = true, .samples = 2, .precision = precision});
    for (const auto& [name, make] : operations) {
      SCOPED_TRACE(name);
      std::int64_t counted = 0, taken = 0;
      {
        Allocations memory;
        const auto op = make();
        const std::int64_t before = memory.live();
        memory.reset_peak();
        op();
        counted = memory.peak() - before;
      }
      const auto op = make();
      op();  // what is made once
      {
        Taken memory;
        op();
        taken = memory.peak;
      }
      // What oneDNN takes on another CPU is not known here.
      EXPECT_LE(2 * taken, 3 * counted);
      EXPECT_GE(4 * taken, counted);
      RecordProperty(std::string(name) + (precision == Precision::kFloat32 ? "" : " bf16"),
                     std::to_string(taken) + " of " + std::to_string(counted));
    }
  }
}

}  // namespace
}  // namespace lockstep::ops
