// The plug-in for CUDA beside what else is in its process: a thread whose GPU others change, as
// LibTorch does, and the program's own copy of the CPU's code.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/cuda.h"

namespace lockstep::numerics {
namespace {

TEST(PtxThreads, TheirGpuIsOursWhateverOthersDo) {
  const Gpu gpu = open_gpu(1, 1);
  const auto others = [] { EXPECT_EQ(cudaSetDevice(0), cudaSuccess); };
  constexpr std::int64_t kFloats = 8;
  std::vector<float> here(kFloats, 1);
  others();
  void* const there = gpu.memory->take(kFloats * sizeof(float));
  const auto floats = static_cast<float*>(there);
  others();
  gpu.kernels->fill(kFloats, 2, floats);
  others();
  const auto upload = gpu.memory->begin_from_host(kFloats * sizeof(float), here.data());
  others();
  auto* const sent = static_cast<float*>(upload->take());
  others();
  gpu.kernels->binary(Binary::kAdd, kFloats, floats, sent, floats);
  others();
  const std::unique_ptr<Event> added = gpu.kernels->record_event();
  others();
  added->wait();
  int of_thread = -1;
  EXPECT_EQ(cudaGetDevice(&of_thread), cudaSuccess);
  EXPECT_EQ(of_thread, 1);
  others();
  gpu.memory->to_host(kFloats * sizeof(float), there, here.data());
  EXPECT_EQ(here, std::vector<float>(kFloats, 3));
  for (void* const memory : {there, static_cast<void*>(sent)}) {
    others();
    gpu.memory->give_back(memory);
  }
}

// Each of the two has a copy of what the CPU's threads are made of. The program starts the threads
// of a GPU's host, the plug-in ends them.
TEST(PtxThreads, OfTheHostAreStartedByTheProgramAndEndedByThePlugIn) {
  const Gpu gpu = open_gpu(1, 4);
  std::atomic<int> pieces = 0;
  gpu.kernels->host().parallel_for(64, 1, [&](std::int64_t, std::int64_t) { ++pieces; });
  EXPECT_GT(pieces, 1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until they sleep
}

}  // namespace
}  // namespace lockstep::numerics
