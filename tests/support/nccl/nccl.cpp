// A stand-in for NCCL, of the functions that our plug-in calls (src/comm/nccl): between processes
// of one machine, over TCP, on interpreted GPUs (support/ptx). It is as NCCL says it is, and no
// better:
//
// - Communicators are not blocking. Calls return ncclInProgress; until ncclCommGetAsyncError says
//   ncclSuccess, what was grouped is in no stream yet, and nothing else may be called.
// - A group's sends and receives are one piece of work of its stream, done as late as somebody asks
//   for it: it reads and writes memory of the GPU when the stream is there. It is over when
//   everything was received on both sides.
// - A peer that goes without a goodbye is an asynchronous error; work then never ends, until the
//   communicator is aborted.
//
// What NCCL leaves undefined ends the program: sizes that differ, memory that is not the GPU's,
// calls on a communicator that is not ready. So does a stream that has not the highest priority:
// kernels of others would come before messages that other ranks wait for.
//
// LOCKSTEP_NCCL_VERSION: what ncclGetVersion says. LOCKSTEP_NCCL_FLIP=RANK:N: a bit of message N of
// more than 4 KiB arrives at that rank as it was not sent. LOCKSTEP_NCCL_LOST=N: send N finds its
// peer lost. LOCKSTEP_NCCL_BUFFERS=BYTES: what it takes of the GPU's memory for its first message.
// LOCKSTEP_NCCL_STUCK: an abort never ends. LOCKSTEP_NCCL_STAYS: a rank that ends a communicator in
// peace stops there.
#include <nccl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/nccl/link.h"
#include "support/nccl/sockets.h"
#include "support/ptx/foreign.h"

namespace {

using namespace lockstep::test;
using nccl::Link;
using nccl::Message;

constexpr int kLooks = 3;  // at a communicator, until what was grouped is in its stream
constexpr std::size_t kSmall = 4096;

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "stand-in for NCCL: %s\n", why.c_str());
  std::_Exit(71);
}

struct Transfer {
  bool sends;
  void* at;
  std::size_t bytes;
  int peer;
  std::uint64_t number = 0;  // at its link
};
struct Group {
  std::vector<Transfer> transfers;
  cudaStream_t stream;
};

// Outlives its handle while a stream has work of it.
struct Communicator {
  int rank, world, server, gpu;
  std::mutex mutex;                          // of streams' work, and of the end
  std::vector<std::unique_ptr<Link>> links;  // by rank; null: this one
  std::atomic<bool> connected = false, aborted = false;
  std::atomic<bool> failed = false;  // to connect
  bool finalized = false;
  std::deque<Group> grouped;  // in no stream yet
  int looks = 0;
  std::uint64_t large = 0;  // messages that arrived
  std::thread connecting;

  void connect();
  bool lost() const;
  void enqueue(Group group);
  void send(Group& group);
  bool is_over(const Group& group);
  void receive(Group& group);
  void damage(Message& message);
  void end();
};

void Communicator::connect() {
  const auto [listening, own_port] = nccl::listen_here();
  const std::vector<int> ports = nccl::ports_of_all(server, rank, world, own_port, aborted);
  links.resize(static_cast<std::size_t>(world));
  bool all = ports.size() == links.size();
  for (int r = 0; all && r < rank; ++r) {
    const int socket = nccl::connect_to(ports[static_cast<std::size_t>(r)]);
    all = socket >= 0 && nccl::write_all(socket, &rank, sizeof rank);
    if (all) links[static_cast<std::size_t>(r)] = std::make_unique<Link>(socket);
  }
  for (int r = rank + 1; all && r < world; ++r) {
    const int socket = nccl::accept_from(listening, aborted);
    int peer = 0;
    all = socket >= 0 && nccl::read_all(socket, &peer, sizeof peer);
    if (all) links[static_cast<std::size_t>(peer)] = std::make_unique<Link>(socket);
  }
  ::close(listening);
  failed = !all;
  connected = all;
}

bool Communicator::lost() const {
  for (const auto& link : links)
    if (link && link->lost()) return true;
  return false;
}

void Communicator::send(Group& group) {
  const std::scoped_lock lock(mutex);
  if (aborted) return;
  for (Transfer& one : group.transfers) {
    Link& link = *links[static_cast<std::size_t>(one.peer)];
    if (!one.sends) {
      one.number = link.await();
      continue;
    }
    Message message(one.bytes);
    ptx::move(message.data(), one.at, one.bytes);
    one.number = link.send(std::move(message));
  }
}

bool Communicator::is_over(const Group& group) {
  const std::scoped_lock lock(mutex);
  if (aborted) return true;
  for (const Transfer& one : group.transfers) {
    Link& link = *links[static_cast<std::size_t>(one.peer)];
    if (one.sends ? !link.taken(one.number) : !link.arrived(one.number)) return false;
  }
  return true;
}

void Communicator::damage(Message& message) {
  static const char* const wanted = std::getenv("LOCKSTEP_NCCL_FLIP");
  if (wanted == nullptr || message.size() <= kSmall) return;
  if (std::to_string(rank) + ":" + std::to_string(large++) == wanted)
    message[message.size() / 3] ^= 0x10;
}

void Communicator::receive(Group& group) {
  const std::scoped_lock lock(mutex);
  if (aborted) return;
  for (const Transfer& one : group.transfers) {
    if (one.sends) continue;
    Message message = links[static_cast<std::size_t>(one.peer)]->receive(one.number);
    if (message.size() != one.bytes)
      die("rank " + std::to_string(one.peer) + " sends " + std::to_string(message.size()) +
          " bytes, and " + std::to_string(one.bytes) + " are awaited");
    damage(message);
    ptx::move(one.at, message.data(), message.size());
  }
}

// Begins when the stream is there, and is over when all has arrived.
void Communicator::enqueue(Group group) {
  const cudaStream_t stream = group.stream;
  const auto shared = std::make_shared<Group>(std::move(group));
  ptx::put_when(
      stream, [] { return true; }, [this, shared] { send(*shared); });
  ptx::put_when(
      stream, [this, shared] { return is_over(*shared); }, [this, shared] { receive(*shared); });
}

void Communicator::end() {
  aborted = true;
  connecting.join();
  const std::scoped_lock lock(mutex);
  links.clear();
}

struct Open {  // a group that is being made
  int depth = 0;
  ncclComm* communicator = nullptr;
  Group group;
  ncclResult_t error = ncclSuccess;  // of one of its calls: nothing is done
};
thread_local Open open_group;

}  // namespace

struct ncclComm {
  // Never destroyed: a stream may have work of it.
  Communicator& all = *new Communicator;
};

namespace {

void require_ready(const ncclComm* communicator) {
  const Communicator& all = communicator->all;
  if (!all.connected || !all.grouped.empty() || all.finalized)
    die("a call on a communicator that is not ready");
}

void require_priority(cudaStream_t stream) {
  int least = 0, greatest = 0, given = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  if (cudaStreamGetPriority(stream, &given) == cudaSuccess && given != greatest)
    die("messages in a stream that has not the highest priority");
}

std::atomic<int> open_groups = 0;  // of all threads: who aborts may be another than who sends

// NCCL would end it with the group.
void require_no_group() {
  if (open_groups > 0) die("a communicator is to end in a group that is open");
}

void stay_if_told(const char* variable) {
  while (std::getenv(variable) != nullptr) std::this_thread::sleep_for(std::chrono::hours(1));
}

bool loses_its_peer() {
  static const char* const wanted = std::getenv("LOCKSTEP_NCCL_LOST");
  static int sends = 0;
  return wanted != nullptr && sends++ == std::atoi(wanted);
}

// NCCL has buffers for a peer from the first message to it or from it on.
void take_buffers() {
  static const char* const wanted = std::getenv("LOCKSTEP_NCCL_BUFFERS");
  static bool taken = false;
  if (wanted == nullptr || std::exchange(taken, true)) return;
  if (!ptx::occupy(std::strtoull(wanted, nullptr, 10))) die("no memory for its buffers");
}

ncclResult_t end_group() {
  Open& open = open_group;
  if (open.error != ncclSuccess) {
    const ncclResult_t error = open.error;
    open = {};
    return error;
  }
  if (open.communicator == nullptr) return ncclSuccess;
  take_buffers();
  Communicator& all = open.communicator->all;
  all.grouped.push_back(std::move(open.group));
  all.looks = kLooks;
  open = {};
  return ncclInProgress;
}

ncclResult_t add(Transfer transfer, ncclDataType_t type, ncclComm_t communicator,
                 cudaStream_t stream) {
  require_ready(communicator);
  if (type != ncclUint8) return ncclInvalidArgument;
  if (transfer.peer < 0 || transfer.peer >= communicator->all.world ||
      transfer.peer == communicator->all.rank)
    return ncclInvalidArgument;
  if (!ptx::is_of_gpu(transfer.at)) die("memory that is not the GPU's");
  require_priority(stream);
  Open& open = open_group;
  if (communicator->all.lost() || (transfer.sends && loses_its_peer()))
    return open.error = ncclRemoteError;
  open.communicator = communicator;
  open.group.stream = stream;
  open.group.transfers.push_back(transfer);
  return open.depth > 0 ? ncclSuccess : end_group();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  const char* const wanted = std::getenv("LOCKSTEP_NCCL_VERSION");
  *version = wanted != nullptr ? std::atoi(wanted) : NCCL_VERSION_CODE;
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclSystemError:
      return "unhandled system error";
    default:
      return "an error of the stand-in for NCCL";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  return "said by the stand-in for NCCL\n";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 0, sizeof *id);
  const int port = nccl::serve_ports();
  std::memcpy(id->internal, &port, sizeof port);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int world, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config == nullptr || config->blocking != 0) return ncclInvalidUsage;
  *communicator = new ncclComm;
  Communicator& all = (*communicator)->all;
  all.rank = rank;
  all.world = world;
  cudaGetDevice(&all.gpu);
  std::memcpy(&all.server, id.internal, sizeof all.server);
  all.connecting = std::thread([&all] { all.connect(); });
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  Communicator& all = communicator->all;
  *state = ncclInProgress;
  if (all.failed) {
    *state = ncclSystemError;
  } else if (all.connected) {
    if (all.lost()) {
      *state = ncclRemoteError;
    } else if (all.grouped.empty()) {
      *state = ncclSuccess;
    } else if (--all.looks == 0) {
      while (!all.grouped.empty()) {
        all.enqueue(std::move(all.grouped.front()));
        all.grouped.pop_front();
      }
    }
  }
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  ++open_groups;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  --open_groups;
  return --open_group.depth > 0 ? ncclSuccess : end_group();
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  stay_if_told("LOCKSTEP_NCCL_KEPT");
  return add({true, const_cast<void*>(from), count, peer}, type, communicator, stream);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return add({false, to, count, peer}, type, communicator, stream);
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  require_no_group();
  require_ready(communicator);
  // With its threads: what looks after it would end it.
  if (std::getenv("LOCKSTEP_NCCL_STAYS") != nullptr) ::raise(SIGSTOP);
  communicator->all.finalized = true;
  for (const auto& link : communicator->all.links)
    if (link) link->say_goodbye();
  return ncclInProgress;
}

// Waits for the other ranks, as NCCL's proxy does for those of the host.
ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  Communicator& all = communicator->all;
  if (!all.finalized) die("a communicator is destroyed that was not finalized");
  int current = 0;
  cudaGetDevice(&current);
  // NCCL makes it current again, and CUDA opens it for this process.
  if (current != all.gpu) die("a communicator is destroyed by a thread of another GPU");
  for (const auto& link : all.links)
    while (link && !link->heard_goodbye() && !link->lost())
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  all.end();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  require_no_group();
  stay_if_told("LOCKSTEP_NCCL_STUCK");
  communicator->all.end();
  delete communicator;
  return ncclSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
