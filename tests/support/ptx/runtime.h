// Private: what the files of the stand-in for CUDA's runtime share (runtime.cpp).
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "support/gpu/stream.h"
#include "support/gpu/stream_memory.h"
#include "support/ptx/memory.h"
#include "support/ptx/pool.h"
#include "support/ptx/program.h"

namespace lockstep::test::ptx {

using gpu::Streams;

// Of a program and its plug-ins: one.
struct Runtime {
  Streams streams;
  gpu::StreamMemory memory{streams, there, gone};
  Pool pool{all_bytes()};
  Memory pinned;
  std::mutex mutex;
  std::vector<std::unique_ptr<Module>> modules;
  struct Kernel {
    Module* module;
    std::string name;
    std::size_t most_shared = 48 * 1024;  // that a block may ask for
    bool loaded = false;
  };
  std::map<const void*, Kernel> kernels;  // by the host's function
  std::uint64_t launches = 0;
  std::atomic<bool> lost = false, hangs = false;
  std::set<Streams::Stream> spoilt;           // whose capture fails when it ends
  std::map<Streams::Stream, int> priorities;  // that were given

 private:
  static void there(void* start, std::size_t bytes);
  static void gone(void* start, std::size_t bytes);
  static std::size_t all_bytes();
};

Runtime& runtime();

// Whether the GPU was lost (LOCKSTEP_PTX_LOST_AT): nothing that it was told to do is done any more,
// and every call says so.
bool lost();

// Returns unless the GPU hangs (LOCKSTEP_PTX_HANGS_AT): then nothing that it is told to do is ever
// done, and whoever waits for it waits for ever.
void wait_if_it_hangs();

// What a stream is told to do: behind so much that a GPU which hangs has not done, the driver lets
// the host wait.
void queue_another();

// A call's result, an error, which cudaGetLastError gives until it has given it; of a lost GPU its
// own.
cudaError_t failed(cudaError_t error);

// CUDA's handles are ours; what is null or cudaStreamLegacy is the null stream.
std::optional<Streams::Stream> known(cudaStream_t handle);
// Of one that is not being captured: else the call fails, and what was captured is lost.
std::optional<Streams::Stream> working(cudaStream_t handle);
std::optional<Streams::Event> known(cudaEvent_t handle);

}  // namespace lockstep::test::ptx
