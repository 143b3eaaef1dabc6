// What LibTorch's kernels for CUDA throw and warn of, which no test here can make them do.
#include "ops/native_errors.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <functional>
#include <new>
#include <stdexcept>
#include <string>

#include "lockstep/core/error.h"

namespace lockstep::ops::native {
namespace {

std::string told(Code code, const std::function<void()>& call) {
  try {
    with_our_errors(call);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

void warn_of(const char* status) {
  TORCH_WARN("gemm_and_bias error: ", status,
             " when calling cublasLtMatmul with transpose_mat1 1. Will attempt to recover by "
             "calling unfused cublas path.");
}

TEST(NativeErrors, AGpusAreTheMachines) {
  const auto fails = [] {
    throw c10::AcceleratorError({}, 719, "CUDA error: unspecified launch failure\nCUDA kernel…");
  };
  EXPECT_EQ(told(Code::kEnvironment, fails), "LibTorch: CUDA error: unspecified launch failure");
}

TEST(NativeErrors, OfMemoryAreThoseOfMemory) {
  for (const char* const what :
       {"CUDA error: out of memory", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED",
        "DefaultCPUAllocator: can't allocate memory"})
    EXPECT_THROW(with_our_errors([&] { TORCH_CHECK(false, what); }), std::bad_alloc);
  EXPECT_THROW(with_our_errors([] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(NativeErrors, OthersAreOurs) {
  EXPECT_EQ(told(Code::kBug, [] { TORCH_CHECK(false, "sizes differ\nsecond line"); }),
            "LibTorch: sizes differ");
  EXPECT_EQ(told(Code::kBug, [] { throw std::runtime_error("cudnn_frontend: no plan"); }),
            "LibTorch: cudnn_frontend: no plan");
  EXPECT_EQ(told(Code::kUsage, [] { throw Error(Code::kUsage, "as it is", ""); }), "as it is");
}

// The product is there, by another kernel.
TEST(NativeErrors, AKernelThatFailsOnceIsNotReplaced) {
  EXPECT_EQ(told(Code::kEnvironment, [] { warn_of("CUBLAS_STATUS_INTERNAL_ERROR"); }).substr(0, 89),
            "LibTorch took another kernel, of other bits: gemm_and_bias error: "
            "CUBLAS_STATUS_INTERNAL_");
}

// It is replaced every time.
TEST(NativeErrors, AKernelThatIsNotMadeForAShapeIsReplaced) {
  EXPECT_NO_THROW(with_our_errors([] { warn_of("CUBLAS_STATUS_NOT_SUPPORTED"); }));
  EXPECT_NO_THROW(with_our_errors([] { TORCH_WARN("of something else"); }));
}

}  // namespace
}  // namespace lockstep::ops::native
