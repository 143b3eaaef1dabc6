// Far memory (support/far_device/memory.h) that streams take and give back, as cudaMallocAsync and
// cudaFreeAsync do: a stream may have at once what it gave back, another one when that is done.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>

#include "support/gpu/stream.h"

namespace lockstep::test::gpu {

class StreamMemory {
 public:
  using Heard = std::function<void(void* memory, std::size_t bytes)>;

  // Called in the stream's order, when memory is there and when it is gone.
  explicit StreamMemory(Streams& streams, Heard there = {}, Heard gone = {});

  // As cudaMemPoolReuseAllowInternalDependencies: a stream may be made to wait for another one, to
  // have what that gives back. From the start it may.
  void order_streams(bool allowed) { orders_ = allowed; }

  // Null for no bytes, or if there is not so much; what another stream will give back is not there.
  // Full of NaNs, up to 256 MiB: what nobody wrote is seen.
  void* take(std::size_t bytes, Streams::Stream stream);
  // Whether it was taken and not given back.
  bool give_back(void* memory, Streams::Stream stream);

 private:
  struct Freed {
    const char* first;
    std::size_t bytes;
    Streams::Stream by;
    std::shared_ptr<std::atomic<bool>> done;
  };

  void forget_done();
  // Whether it was another stream's, whose give_back is still to be done.
  bool is_elsewhere(const Freed& freed, const char* first, std::size_t bytes,
                    Streams::Stream stream) const;
  void order_after_frees(const char* first, std::size_t bytes, Streams::Stream stream);

  Streams& streams_;
  const Heard there_, gone_;
  bool orders_ = true;
  std::mutex mutex_;
  std::map<const void*, std::size_t> taken_;  // bytes
  std::list<Freed> freed_;
};

}  // namespace lockstep::test::gpu
