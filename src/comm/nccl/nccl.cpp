// The plug-in for NCCL: sends and receives between GPUs, none of its reductions. Tensors are in
// host memory, so bytes pass through a buffer on the device. Every wait polls with a deadline in
// the calling thread, which also handles interruptions.
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <exception>
#include <stdexcept>
#include <thread>

#include "comm/transport.h"
#include "lockstep/core/clock.h"

namespace lockstep::comm {
namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

void check(ncclResult_t result, const char* what) {
  if (result != ncclSuccess && result != ncclInProgress)
    throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(result));
}

// Why this machine cannot run it, or "".
std::string missing() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  return std::string("no CUDA device: ") +
         (error == cudaSuccess ? "the driver has none" : cudaGetErrorString(error));
}

class Nccl final : public Transport {
 public:
  explicit Nccl(const TransportOptions& options)
      : rank_(static_cast<std::size_t>(options.rank)),
        world_(static_cast<std::size_t>(options.world)),
        connect_timeout_(options.connect_timeout) {
    if (!options.interface.empty())
      setenv("NCCL_SOCKET_IFNAME", ("=" + options.interface).c_str(), 1);
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    gpu_ = options.local_rank % count;
    check(cudaSetDevice(gpu_), "cudaSetDevice");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    if (rank_ == 0) check(ncclGetUniqueId(&id_), "ncclGetUniqueId");
  }

  ~Nccl() override {
    if (communicator_ != nullptr) close();
    cudaFree(staging_);
    cudaStreamDestroy(stream_);
  }

  // Rank 0's unique id, which is a secret of the run, too.
  std::vector<std::string> addresses() noexcept override {
    std::vector<std::string> texts(world_);
    for (std::size_t r = 1; r < world_ && rank_ == 0; ++r)
      texts[r].assign(id_.internal, sizeof id_.internal);
    return texts;
  }

  std::string connect(const std::vector<std::string>& addresses) noexcept override {
    return attempt(connect_timeout_, [&] {
      if (rank_ != 0) {
        if (addresses[0].size() != sizeof id_.internal)
          throw std::runtime_error("rank 0 uses another transport");
        std::memcpy(id_.internal, addresses[0].data(), sizeof id_.internal);
      }
      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
      config.blocking = 0;
      check(ncclCommInitRankConfig(&communicator_, static_cast<int>(world_), id_,
                                   static_cast<int>(rank_), &config),
            "ncclCommInitRankConfig");
      wait_for_communicator();
    });
  }

  // NCCL has no tags: messages between two ranks arrive in the order of the moves. One begins when
  // it is waited for, so a rank that is out of step is found before more is sent.
  std::string begin(std::uint64_t /*number*/, std::span<const ByteView> to,
                    std::span<const MutableByteView> from) noexcept override {
    moves_.push_back({{to.begin(), to.end()}, {from.begin(), from.end()}});
    return "";
  }

  std::string finish(std::chrono::milliseconds timeout) noexcept override {
    const Move now = std::move(moves_.front());
    moves_.pop_front();
    return attempt(timeout, [&] {
      const auto& [to, from] = now;
      std::size_t bytes = 0;
      for (std::size_t r = 0; r < world_; ++r)
        if (r != rank_) bytes += padded(to[r].size()) + padded(from[r].size());
      if (bytes == 0) return;
      reserve(bytes);
      std::byte* at = staging_;
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_ || to[r].empty()) continue;
        check(cudaMemcpyAsync(at, to[r].data(), to[r].size(), cudaMemcpyHostToDevice, stream_),
              "copy to the device");
        at += padded(to[r].size());
      }
      at = staging_;
      check(ncclGroupStart(), "ncclGroupStart");
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_ || to[r].empty()) continue;
        check(ncclSend(at, to[r].size(), ncclUint8, static_cast<int>(r), communicator_, stream_),
              "ncclSend");
        at += padded(to[r].size());
      }
      const std::byte* received = at;
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_ || from[r].empty()) continue;
        check(ncclRecv(at, from[r].size(), ncclUint8, static_cast<int>(r), communicator_, stream_),
              "ncclRecv");
        at += padded(from[r].size());
      }
      check(ncclGroupEnd(), "ncclGroupEnd");
      wait_for_communicator();
      wait_for_stream();  // before the copies: those to ordinary memory would wait without end
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_ || from[r].empty()) continue;
        check(cudaMemcpyAsync(from[r].data(), received, from[r].size(), cudaMemcpyDeviceToHost,
                              stream_),
              "copy from the device");
        received += padded(from[r].size());
      }
      wait_for_stream();
    });
  }

  void interrupt() noexcept override { interrupted_ = true; }

 private:
  static std::size_t padded(std::size_t size) { return (size + 255) / 256 * 256; }

  // After a failure nothing works any more.
  template <class Body>
  std::string attempt(std::chrono::milliseconds timeout, const Body& body) noexcept {
    if (interrupted_) return "interrupted";
    until_ = monotonic_seconds() + 1e-3 * static_cast<double>(timeout.count());
    try {
      check(cudaSetDevice(gpu_), "cudaSetDevice");  // in whichever thread this is
      body();
      return "";
    } catch (const std::exception& error) {
      const bool by_others = interrupted_.exchange(true);
      if (communicator_ != nullptr) ncclCommAbort(communicator_);
      communicator_ = nullptr;
      return by_others ? "interrupted" : std::string("NCCL, ") + error.what();
    }
  }

  void pause() const {
    if (interrupted_) throw std::runtime_error("interrupted");
    if (monotonic_seconds() > until_) throw std::runtime_error("no answer in time");
    std::this_thread::yield();
  }

  void wait_for_communicator() const {
    for (;;) {
      ncclResult_t state = ncclSuccess;
      check(ncclCommGetAsyncError(communicator_, &state), "ncclCommGetAsyncError");
      check(state, "its communicator");
      if (state == ncclSuccess) return;
      pause();
    }
  }

  void wait_for_stream() const {
    for (;;) {
      const cudaError_t state = cudaStreamQuery(stream_);
      if (state == cudaSuccess) return;
      if (state != cudaErrorNotReady) check(state, "its stream");
      ncclResult_t others = ncclSuccess;  // a peer that is gone shows here
      check(ncclCommGetAsyncError(communicator_, &others), "ncclCommGetAsyncError");
      check(others, "its communicator");
      pause();
    }
  }

  void reserve(std::size_t bytes) {
    if (bytes <= reserved_) return;
    check(cudaFree(staging_), "cudaFree");
    staging_ = nullptr;
    reserved_ = 0;
    check(cudaMalloc(&staging_, bytes), "cudaMalloc");
    reserved_ = bytes;
  }

  // Waits until all sent bytes have left, unless interrupted.
  void close() {
    attempt(connect_timeout_, [this] {
      check(ncclCommFinalize(communicator_), "ncclCommFinalize");
      wait_for_communicator();
    });
    if (communicator_ == nullptr) return;
    if (interrupted_)
      ncclCommAbort(communicator_);
    else
      ncclCommDestroy(communicator_);
  }

  struct Move {
    std::vector<ByteView> to;
    std::vector<MutableByteView> from;
  };

  const std::size_t rank_, world_;
  const std::chrono::milliseconds connect_timeout_;
  int gpu_ = 0;
  std::deque<Move> moves_;  // begun, not finished
  ncclUniqueId id_{};
  ncclComm_t communicator_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::byte* staging_ = nullptr;  // on the device
  std::size_t reserved_ = 0;
  double until_ = 0;  // of the call that is going on
  std::atomic<bool> interrupted_ = false;
};

}  // namespace
}  // namespace lockstep::comm

extern "C" __attribute__((visibility("default"))) void lockstep_transport_needs(
    std::string& problem) {
  problem = lockstep::comm::missing();
}

extern "C" __attribute__((visibility("default"))) void lockstep_transport_library(
    std::string& library) {
  int version = 0;
  if (ncclGetVersion(&version) == ncclSuccess)
    library = "NCCL " + std::to_string(version / 10000) + "." +
              std::to_string(version / 100 % 100) + "." + std::to_string(version % 100);
}

extern "C" __attribute__((visibility("default"))) lockstep::comm::Transport*
lockstep_open_transport(const lockstep::comm::TransportOptions& options, std::string& problem) {
  if (options.version != lockstep::comm::kTransportVersion) {
    problem = "it is of another build of lockstep";
    return nullptr;
  }
  try {
    return new lockstep::comm::Nccl(options);
  } catch (const std::exception& error) {
    problem = error.what();
    return nullptr;
  }
}
