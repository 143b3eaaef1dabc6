// What prepare_native sets up in LibTorch. No test has a GPU that LibTorch knows, so what is for
// CUDA's is called without one.
#include <ATen/Context.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <new>

#include "lockstep/ops/numerics.h"
#include "ops/counting.h"
#include "ops/native.h"
#include "ops/native_memory.h"

namespace lockstep::ops {
namespace {

at::Device a_gpu() {
  return {at::kCUDA, testing::kCountedGpu};
}

// LibTorch's switches; as they were, when it ends.
class Switches {
 public:
  ~Switches() {
    context_.setDeterministicAlgorithms(deterministic_, warn_only_);
    context_.setDeterministicFillUninitializedMemory(fill_);
    context_.setDeterministicCuDNN(deterministic_cudnn_);
    context_.setBenchmarkCuDNN(benchmark_cudnn_);
    context_.setDeterministicMkldnn(deterministic_mkldnn_);
    context_.setFloat32MatmulPrecision(
        products_ == at::Float32MatmulPrecision::HIGHEST
            ? "highest"
            : (products_ == at::Float32MatmulPrecision::HIGH ? "high" : "medium"));
    context_.setAllowTF32CuDNN(tf32_cudnn_);
    context_.setAllowBF16ReductionCuBLAS(
        bfloat16_sums_ == Sums::AllowReducedPrecisionWithSplitK,
        bfloat16_sums_ != Sums::DisallowReducedPrecisionDisallowSplitK);
  }

  // As somebody may have left them.
  void spoil(bool fill, bool tf32) {
    context_.setDeterministicAlgorithms(false, /*warn_only=*/false);
    context_.setDeterministicFillUninitializedMemory(!fill);
    context_.setDeterministicCuDNN(false);
    context_.setBenchmarkCuDNN(true);
    context_.setDeterministicMkldnn(false);
    context_.setFloat32MatmulPrecision("medium");
    context_.setAllowTF32CuDNN(!tf32);
    context_.setAllowBF16ReductionCuBLAS(true);
  }

  void expect(bool fill, bool tf32) const {
    EXPECT_TRUE(context_.deterministicAlgorithms());
    EXPECT_FALSE(context_.deterministicAlgorithmsWarnOnly());
    EXPECT_EQ(context_.deterministicFillUninitializedMemory(), fill);
    EXPECT_TRUE(context_.deterministicCuDNN());
    EXPECT_FALSE(context_.benchmarkCuDNN());
    EXPECT_TRUE(context_.deterministicMkldnn());
    EXPECT_EQ(context_.allowTF32CuBLAS(), tf32);
    EXPECT_EQ(context_.allowTF32CuDNN(), tf32);
    EXPECT_EQ(context_.float32MatmulPrecision(),
              tf32 ? at::Float32MatmulPrecision::HIGH : at::Float32MatmulPrecision::HIGHEST);
    EXPECT_EQ(context_.allowBF16ReductionCuBLAS(), Sums::DisallowReducedPrecisionAllowSplitK);
  }

 private:
  using Sums = at::CuBLASReductionOption;

  at::Context& context_ = at::globalContext();
  const bool deterministic_ = context_.deterministicAlgorithms();
  const bool warn_only_ = context_.deterministicAlgorithmsWarnOnly();
  const bool fill_ = context_.deterministicFillUninitializedMemory();
  const bool deterministic_cudnn_ = context_.deterministicCuDNN();
  const bool benchmark_cudnn_ = context_.benchmarkCuDNN();
  const bool deterministic_mkldnn_ = context_.deterministicMkldnn();
  const at::Float32MatmulPrecision products_ = context_.float32MatmulPrecision();
  const bool tf32_cudnn_ = context_.allowTF32CuDNN();
  const Sums bfloat16_sums_ = context_.allowBF16ReductionCuBLAS();
};

// With an allocator for CUDA, which LibTorch finds as its own.
class NativeSetup : public ::testing::Test {
 protected:
  NativeSetup() { c10::SetAllocator(at::kCUDA, &theirs_); }
  ~NativeSetup() override {
    native::watch_allocator(nullptr, 0);
    c10::SetAllocator(at::kCUDA, nullptr);
  }

  void sets_switches(const std::function<void(Precision, bool)>& prepare, bool has_tf32) {
    for (const Precision precision : {Precision::kFloat32, Precision::kTf32, Precision::kBfloat16})
      for (const bool fill : {false, true}) {
        SCOPED_TRACE(::testing::Message()
                     << "precision " << static_cast<int>(precision) << ", fill " << fill);
        const bool tf32 = has_tf32 && precision == Precision::kTf32;
        switches_.spoil(fill, tf32);
        prepare(precision, fill);
        switches_.expect(fill, tf32);
      }
  }

  testing::Counting theirs_;
  Switches switches_;
};

TEST_F(NativeSetup, SetsTheSwitchesOfTheCpu) {
  sets_switches([](Precision precision, bool fill) { prepare_native(precision, fill); }, false);
}

TEST_F(NativeSetup, SetsTheSwitchesOfAGpu) {
  sets_switches(
      [](Precision precision, bool fill) { native::prepare_on(a_gpu(), precision, fill); }, true);
}

TEST_F(NativeSetup, WatchesTheAllocatorOfAGpu) {
  const auto lacks = [&] { ++theirs_.lacked; };
  prepare_native(Precision::kFloat32);  // on the CPU
  EXPECT_NO_THROW(native::with_enough_memory(lacks));
  native::give_back_kept();
  EXPECT_EQ(theirs_.emptied, 0);
  native::prepare_on(a_gpu(), Precision::kFloat32, false);
  EXPECT_THROW(native::with_enough_memory(lacks), std::bad_alloc);
  native::give_back_kept();
  EXPECT_EQ(theirs_.emptied, 1);
}

TEST_F(NativeSetup, AlignsAsLibtorchsAllocatorsDo) {
  EXPECT_EQ(native::alignment_on(at::kCPU), 64U);
  EXPECT_EQ(native::alignment_on(a_gpu()), 256U);
  alignas(256) std::array<float, 64> room{};
  const auto floats = [&](std::size_t offset, const at::Device& there) {
    const auto options = at::TensorOptions(at::kFloat).device(there);
    return at::from_blob(
        &room.at(offset), {4}, [](void*) {}, options, there);
  };
  EXPECT_EQ(native::aligned(floats(0, a_gpu())).const_data_ptr(), room.data());
  EXPECT_EQ(native::aligned(floats(32, at::kCPU)).const_data_ptr(), &room[32]);
  // That would be a copy, for which LibTorch has no kernel here.
  EXPECT_THROW(native::aligned(floats(32, a_gpu())), c10::NotImplementedError);
}

}  // namespace
}  // namespace lockstep::ops
