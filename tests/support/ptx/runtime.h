// Private: what the files of the stand-in for CUDA's runtime share (runtime.cpp).
#pragma once

#pragma GCC visibility push(default)
#include <cuda_runtime_api.h>
#pragma GCC visibility pop

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/gpu/stream.h"
#include "support/ptx/memory.h"
#include "support/ptx/program.h"

namespace lockstep::test::ptx {

using gpu::Streams;

// Of a program and its plug-ins: one.
struct Runtime {
  Streams streams;
  Memory pinned;
  std::mutex mutex;
  std::vector<std::unique_ptr<Module>> modules;
  struct Kernel {
    Module* module;
    std::string name;
  };
  std::map<const void*, Kernel> kernels;  // by the host's function
  std::uint64_t launches = 0;
  // Of the GPU's memory: what is given out, and what a stream will have given back. The stream may
  // have that again at once, another one when it was given back.
  struct Freed {
    const char* first;
    std::size_t bytes;
    Streams::Stream by;
    std::shared_ptr<std::atomic<bool>> done;
  };
  std::map<const void*, std::size_t> bytes_of;
  std::list<Freed> freed;
};

Runtime& runtime();

// CUDA's handles are ours; what is null or cudaStreamLegacy is the null stream.
std::optional<Streams::Stream> known(cudaStream_t handle);
std::optional<Streams::Event> known(cudaEvent_t handle);

}  // namespace lockstep::test::ptx
