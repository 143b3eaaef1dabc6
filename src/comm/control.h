// The control plane of a group after its rendezvous. Its thread notices lost ranks, spreads the
// first reason to stop, and carries small messages while the transport is set up.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "lockstep/core/error.h"
#include "rendezvous.h"

namespace lockstep::comm {

class Control {
 public:
  // deadline: seconds. A rank that is silent for half of it counts as lost.
  Control(Rank rank, Joined joined, double deadline);
  ~Control();  // says goodbye if nothing went wrong

  // Every rank's bytes, by rank. At most kMostBlob bytes each. Throws Error(kNetwork). Collective:
  // yes.
  std::vector<Bytes> exchange(ByteView mine);

  // Begins this rank's next operation; returns its number, from 1. Throws if the group was stopped.
  std::uint64_t begin();
  // Why the group was stopped, if it was. Waits up to `seconds` for a reason.
  std::optional<Error> reason(double seconds = 0);
  [[noreturn]] void throw_reason();
  // This rank gives up: stops the group. Returns when it knows the group's first reason.
  void abort(const Error& reason);
  // Ranks that have not begun operation `number`: "rank 2 on b, rank 3 on b"; "" if all have.
  std::string laggards(std::uint64_t number);
  // Calls `interrupt` once, when the group is stopped; at once if it is stopped already.
  void on_stop(std::function<void()> interrupt);

  std::string name(std::size_t rank) const;  // "rank 2 on b"
  std::size_t world() const { return hosts_.size(); }

 private:
  void run();
  void listen(double until);
  void hear(std::size_t r);
  void handle(std::size_t r, const Frame& frame);
  void ping();
  void stop(const Error& reason);  // the first reason wins; rank 0 spreads it
  void lost(std::size_t r, const std::string& how);
  void contribute(std::size_t r, Bytes blob);
  void send(std::size_t r, char type, ByteView payload);
  void send(std::size_t r, char type, ByteView payload, double until);
  bool all_closed();

  const std::size_t rank_;
  const double deadline_, silence_;
  const std::vector<std::string> hosts_;
  std::vector<Peer> peers_;         // sockets: read and closed by the thread only
  std::vector<double> last_heard_;  // the thread's
  std::vector<bool> left_;          // said goodbye; the thread's
  int wake_;                        // an eventfd

  std::mutex sending_;  // one frame at a time

  std::mutex mutex_;  // all below
  std::condition_variable changed_;
  std::optional<Error> reason_;
  std::function<void()> interrupt_;
  std::vector<std::uint64_t> begun_;           // operations, by rank
  std::vector<std::optional<Bytes>> offered_;  // rank 0: of the exchange under way
  std::optional<std::vector<Bytes>> exchanged_;
  bool closing_ = false;

  std::jthread thread_;
};

}  // namespace lockstep::comm
