// The plug-in for NCCL: sends and receives between GPUs, none of its reductions. It reads and
// writes the memory of the GPUs that compute; what lies in the host's memory passes through a
// buffer on the GPU and a pinned one of the host. Every wait polls with a deadline in the calling
// thread, which also handles interruptions; where CUDA keeps that thread, a watch ends NCCL's work.
#include <cuda_runtime.h>
#include <nccl.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "comm/nccl/machine.h"
#include "comm/nccl/staging.h"
#include "comm/nccl/watch.h"
#include "comm/transport.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/plugin.h"

namespace lockstep::comm {
namespace {

constexpr double kEndsWithin = 5;  // seconds for NCCL and the GPU to let go of an aborted move
constexpr int kLooksAwake = 500;   // of a wait: a millisecond, in which most moves end
constexpr std::chrono::microseconds kBetweenLooks{20};
constexpr std::size_t kAlignment = 256;
// The buffer on the GPU for the host's messages. Larger ones (a state that rank 0 has read) go in
// pieces: what it takes does not grow with the largest tensor and the world.
constexpr std::size_t kStaging = std::size_t{16} << 20;

class Nccl final : public Transport {
 public:
  explicit Nccl(const TransportOptions& options)
      : rank_(static_cast<std::size_t>(options.rank)),
        world_(static_cast<std::size_t>(options.world)),
        connect_timeout_(options.connect_timeout) {
    if (!options.interface.empty())
      setenv("NCCL_SOCKET_IFNAME", ("=" + options.interface).c_str(), 1);
    setenv("NCCL_COMM_BLOCKING", "0", 1);  // NCCL's files overwrite nothing that is set
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    gpu_ = options.gpu >= 0 ? options.gpu : options.local_rank % count;
    check(cudaSetDevice(gpu_), "cudaSetDevice");
    // Multiprocessors take its blocks first: other ranks wait for them.
    int least = 0, greatest = 0;
    check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest),
          "cudaStreamCreate");
    mine_ = this_machine(gpu_, options.gpu >= 0);
    if (rank_ == 0) check(ncclGetUniqueId(&id_), "ncclGetUniqueId");
  }

  ~Nccl() override {
    if (connected()) close();
    if (stuck_) return;  // these calls would wait for the GPU; the process's end frees all
    staging_.release();
    cudaStreamDestroy(stream_);
  }

  // Of every rank what must fit together; of rank 0 the unique id, which is a secret of the run,
  // too.
  std::vector<std::string> addresses() noexcept override {
    std::vector<std::string> texts(world_);
    for (std::size_t r = 0; r < world_; ++r) {
      if (r == rank_) continue;
      texts[r] = text_of(mine_);
      if (rank_ == 0) texts[r].append(id_.internal, sizeof id_.internal);
    }
    return texts;
  }

  std::string connect(const std::vector<std::string>& addresses) noexcept override {
    std::string unfit;
    const std::string problem = attempt(connect_timeout_, [&] {
      bool all_compute = mine_.computes;
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_) continue;
        std::string_view rest = addresses[r];
        const Machine theirs = machine_of(rest);
        if (!(unfit = mismatch(rank_, mine_, r, theirs)).empty()) return;
        all_compute = all_compute && theirs.computes;
        if (r != 0) continue;
        if (rest.size() != sizeof id_.internal)
          throw std::runtime_error("rank 0 uses another transport");
        std::memcpy(id_.internal, rest.data(), sizeof id_.internal);
      }
      staging_.reserve(kStaging);
      meet();
      wait_for_communicator();
      takes_device_memory_ = all_compute;
    });
    return unfit.empty() ? problem : unfit;
  }

  bool takes_device_memory() const noexcept override { return takes_device_memory_; }

  // NCCL has no tags: messages between two ranks arrive in the order of the moves. One begins when
  // it is waited for, so a rank that is out of step is found before more is sent.
  std::string begin(std::uint64_t /*number*/, std::span<const ByteView> to,
                    std::span<const MutableByteView> from, Memory memory) noexcept override {
    moves_.push_back({{to.begin(), to.end()}, {from.begin(), from.end()}, memory});
    return "";
  }

  std::string finish(std::chrono::milliseconds timeout) noexcept override {
    const Move now = std::move(moves_.front());
    moves_.pop_front();
    return attempt(timeout, [&] {
      if (now.memory == Memory::kDevice)
        exchange(now.to, now.from);
      else
        exchange_staged(now.to, now.from);
    });
  }

  void interrupt() noexcept override {
    interrupted_ = true;
    watch_.hurry();
  }

 private:
  struct Move {
    std::vector<ByteView> to;
    std::vector<MutableByteView> from;
    Memory memory;
  };

  static std::size_t padded(std::size_t size) {
    return (size + kAlignment - 1) / kAlignment * kAlignment;
  }

  // After a failure nothing works any more.
  template <class Body>
  std::string attempt(std::chrono::milliseconds timeout, const Body& body) noexcept {
    if (interrupted_ && !connected()) return "interrupted";
    until_ = monotonic_seconds() + 1e-3 * static_cast<double>(timeout.count());
    watch_.begin(until_);
    std::string problem;
    try {
      if (interrupted_) throw std::runtime_error("interrupted");
      check(cudaSetDevice(gpu_), "cudaSetDevice");  // in whichever thread this is
      body();
    } catch (const std::exception& error) {
      const bool by_others = interrupted_.exchange(true);
      abort();
      problem = by_others ? "interrupted" : std::string("NCCL, ") + error.what();
    }
    watch_.finish();
    return problem;
  }

  // Buffers are the caller's again when it returns. A GPU that hangs can keep NCCL in its abort for
  // ever: then the rank goes on to its end without them.
  void abort() noexcept {
    let_go(ncclCommAbort, kEndsWithin);
    const double until = monotonic_seconds() + kEndsWithin;
    while (!stuck_ && stream_state() == cudaErrorNotReady) {
      stuck_ = monotonic_seconds() > until;
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }

  // Ends the communicator, once, by a thread that is waited for so long: NCCL may never return. The
  // thread's GPU is 0: before an abort nothing is asked of one that may hang.
  void let_go(auto end, double seconds) noexcept {
    const ncclComm_t communicator = taken();
    const double until = monotonic_seconds() + seconds;
    if (communicator == nullptr) return;
    try {
      const auto ended = std::make_shared<std::atomic<bool>>(false);
      std::thread([=] {
        end(communicator);
        *ended = true;
      }).detach();
      while (!*ended && !stuck_) {
        stuck_ = monotonic_seconds() > until;
        std::this_thread::sleep_for(kBetweenLooks);
      }
    } catch (const std::exception&) {  // no memory, or no thread
      stuck_ = true;
    }
  }

  bool ended() noexcept {
    let_go(ncclCommAbort, kEndsWithin);
    return !stuck_ && !kept_;
  }
  // Neither NCCL nor CUDA gives this rank back.
  [[noreturn]] void perish() const {
    const std::string line = "lockstep: rank " + std::to_string(rank_) +
                             ": the GPU hangs, and what waits for it does not return\n";
    std::fputs(line.c_str(), stderr);
    std::_Exit(static_cast<int>(Code::kNetwork));
  }

  [[noreturn]] static void give_up() { throw std::runtime_error("no answer in time"); }

  // Between two looks. What takes long leaves its core to those who launch kernels.
  void pause(int looks) const {
    if (interrupted_) throw std::runtime_error("interrupted");
    if (monotonic_seconds() > until_) give_up();
    if (looks < kLooksAwake)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kBetweenLooks);
  }

  // Null, too, where a call of another thread keeps it: CUDA may keep NCCL.
  ncclComm_t taken() {
    const std::unique_lock lock(calls_, std::chrono::duration<double>(kEndsWithin));
    kept_ = !lock;
    return lock ? std::exchange(communicator_, nullptr) : nullptr;
  }
  bool connected() {
    const std::scoped_lock lock(calls_);
    return communicator_ != nullptr;
  }
  // NCCL is called, and the communicator is there until the call returns.
  template <class Call>
  void ask(const char* what, const Call& call) {
    const std::scoped_lock lock(calls_);
    if (communicator_ == nullptr) give_up();
    check(call(communicator_), what);
  }

  void meet() {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const std::scoped_lock lock(calls_);
    check(ncclCommInitRankConfig(&communicator_, static_cast<int>(world_), id_,
                                 static_cast<int>(rank_), &config),
          "ncclCommInitRankConfig");
  }

  ncclResult_t communicator_state() {  // a peer that is gone shows here
    ncclResult_t state = ncclSuccess;
    ask("ncclCommGetAsyncError",
        [&](ncclComm_t communicator) { return ncclCommGetAsyncError(communicator, &state); });
    check(state, "its communicator");
    return state;
  }
  void wait_for_communicator() {
    for (int looks = 0; communicator_state() != ncclSuccess; ++looks) pause(looks);
  }

  // CUDA keeps "not ready" as this thread's last error, and LibTorch would find it behind the next
  // kernel it launches: this plug-in has its runtime.
  cudaError_t stream_state() const {
    const cudaError_t state = cudaStreamQuery(stream_);
    if (state == cudaErrorNotReady) cudaGetLastError();
    return state;
  }

  // Also that nobody has ended the communicator, and so the stream's work before it was done.
  void wait_for_stream() {
    for (int looks = 0;; ++looks) {
      const cudaError_t state = stream_state();
      if (state == cudaSuccess) break;
      if (state != cudaErrorNotReady) check(state, "its stream");
      communicator_state();
      pause(looks);
    }
    if (!connected()) give_up();
  }

  // Buffers are in the GPU's memory. The host waits: what it calls afterwards finds the bytes.
  void exchange(const std::vector<ByteView>& to, const std::vector<MutableByteView>& from) {
    ask("sends and receives", [&](ncclComm_t communicator) {
      check(ncclGroupStart(), "ncclGroupStart");
      for (std::size_t r = 0; r < world_; ++r) {
        if (r == rank_) continue;
        // The group's end tells their errors: in a group that is left open nothing can be aborted.
        const int peer = static_cast<int>(r);
        if (!to[r].empty())
          ncclSend(to[r].data(), to[r].size(), ncclUint8, peer, communicator, stream_);
        if (!from[r].empty())
          ncclRecv(from[r].data(), from[r].size(), ncclUint8, peer, communicator, stream_);
      }
      return ncclGroupEnd();
    });
    wait_for_communicator();
    wait_for_stream();
  }

  template <class View>
  static std::vector<View> cut(const std::vector<View>& whole, std::size_t first,
                               std::size_t size) {
    std::vector<View> pieces;
    for (const View& one : whole) {
      const std::size_t begin = std::min(first, one.size());
      pieces.push_back(one.subspan(begin, std::min(size, one.size() - begin)));
    }
    return pieces;
  }

  // Buffers are in the host's memory. Both sides of a message cut it alike: the world decides.
  void exchange_staged(const std::vector<ByteView>& to, const std::vector<MutableByteView>& from) {
    const std::size_t piece = kStaging / (2 * (world_ - 1)) / kAlignment * kAlignment;
    std::size_t longest = 0;
    for (std::size_t r = 0; r < world_; ++r)
      if (r != rank_) longest = std::max({longest, to[r].size(), from[r].size()});
    for (std::size_t first = 0; first < longest; first += piece)
      exchange_piece(cut(to, first, piece), cut(from, first, piece));
  }

  // Messages lie one after another in the buffer, those to other ranks first: one copy each way.
  void exchange_piece(const std::vector<ByteView>& to, const std::vector<MutableByteView>& from) {
    std::size_t sent = 0, received = 0;
    for (std::size_t r = 0; r < world_; ++r) {
      if (r == rank_) continue;
      sent += padded(to[r].size());
      received += padded(from[r].size());
    }
    std::byte *const on_gpu = staging_.on_gpu(), *const pinned = staging_.pinned();
    std::vector<ByteView> staged_to(world_);
    std::vector<MutableByteView> staged_from(world_);
    for (std::size_t r = 0, out = 0, in = sent; r < world_; ++r) {
      if (r == rank_) continue;
      std::ranges::copy(to[r], pinned + out);
      staged_to[r] = {on_gpu + out, to[r].size()};
      staged_from[r] = {on_gpu + in, from[r].size()};
      out += padded(to[r].size());
      in += padded(from[r].size());
    }
    copy(on_gpu, pinned, sent, cudaMemcpyHostToDevice);
    exchange(staged_to, staged_from);
    copy(pinned + sent, on_gpu + sent, received, cudaMemcpyDeviceToHost);
    wait_for_stream();
    for (std::size_t r = 0; r < world_; ++r)
      if (r != rank_)
        std::copy_n(pinned + (staged_from[r].data() - on_gpu), from[r].size(), from[r].data());
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "a copy");
  }

  // Waits until all sent bytes have left, unless interrupted. NCCL's last call waits for the other
  // ranks of this host (docs: "an intra-node collective call"), one of which may have stopped.
  void close() {
    attempt(connect_timeout_, [this] {
      ask("ncclCommFinalize", ncclCommFinalize);
      wait_for_communicator();
    });
    // NCCL makes the thread's own GPU current again at the end, which opens it.
    const auto destroy = [gpu = gpu_](ncclComm_t communicator) {
      cudaSetDevice(gpu);
      ncclCommDestroy(communicator);
    };
    let_go(destroy, 1e-3 * static_cast<double>(connect_timeout_.count()));
  }

  const std::size_t rank_, world_;
  const std::chrono::milliseconds connect_timeout_;
  int gpu_ = 0;
  Machine mine_;
  bool takes_device_memory_ = false;
  std::deque<Move> moves_;  // begun, not finished
  ncclUniqueId id_{};
  std::timed_mutex calls_;             // of NCCL, and the next
  ncclComm_t communicator_ = nullptr;  // null: not yet, or not any more
  cudaStream_t stream_ = nullptr;
  Staging staging_;
  double until_ = 0;                                      // of the call that is going on
  std::atomic<bool> interrupted_ = false, kept_ = false;  // in a call of NCCL that does not return
  std::atomic<bool> stuck_ = false;                       // NCCL or the GPU did not let go
  Watch watch_{[this] { return ended(); }, [this] { perish(); }};  // last: they use all of these
};

}  // namespace
}  // namespace lockstep::comm

LOCKSTEP_PLUGIN(nccl)

LOCKSTEP_EXPORTED void lockstep_transport_needs(std::string& problem) {
  problem = lockstep::comm::missing();
}

LOCKSTEP_EXPORTED void lockstep_transport_library(std::string& library) {
  library = lockstep::comm::version();
}

LOCKSTEP_EXPORTED lockstep::comm::Transport* lockstep_open_transport(
    const lockstep::comm::TransportOptions& options, std::string& problem) {
  try {
    return new lockstep::comm::Nccl(options);
  } catch (const std::exception& error) {
    problem = error.what();
    return nullptr;
  }
}
