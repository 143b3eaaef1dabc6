// The plug-in for Gloo: unbound buffers over TCP, and none of its algorithms.
#include <adopted_pair.h>  // the one for the package's Gloo
#include <gloo/config.h>
#include <gloo/transport/unbound_buffer.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>

#include "comm/transport.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/plugin.h"

namespace lockstep::comm {
namespace {

using Buffer = gloo::transport::UnboundBuffer;

// Gloo's writes raise SIGPIPE if the peer is gone. Blocks that signal while this lives, in this
// thread and in threads made meanwhile; the process's own handling stays as it is.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_;
};

// Takes a lock that another thread holds for a moment at most. False: it holds it longer.
bool lock_soon(std::mutex& lock) {
#if defined(__SANITIZE_THREAD__)  // it does not see pthread_mutex_clocklock
  return lock.try_lock();
#else
  constexpr double kMoment = 1e-3;  // seconds
  const double until = monotonic_seconds() + kMoment;
  const auto whole = static_cast<time_t>(until);
  const timespec end{whole, static_cast<long>(1e9 * (until - static_cast<double>(whole)))};
  return pthread_mutex_clocklock(lock.native_handle(), CLOCK_MONOTONIC, &end) == 0;
#endif
}

// Set while this thread begins an operation.
thread_local bool begins = false;

class Begins {
 public:
  Begins() { begins = true; }
  ~Begins() { begins = false; }
  Begins(const Begins&) = delete;
  Begins& operator=(const Begins&) = delete;
};

// Gloo itself trusts whoever connects first. Our pair takes over a connection whose other end has
// proved who it is.
//
// A thread that closes a pair holds the pair's lock until Gloo's thread moves on. So Gloo's thread
// must not wait for a lock that such a thread holds.
class Pair final : public AdoptedPair {
 public:
  using AdoptedPair::AdoptedPair;
  // Arriving bytes may be damaged: Gloo's thread must not end the process for that. Gloo's own
  // function would release the lock before we know of the error, and another thread could take it
  // to close the pair.
  void handleEvents(int events) override {
    // Without the wait Gloo would call this again and again while another thread holds the lock:
    // perhaps on the core that the other thread waits for.
    if (!lock_soon(m_)) return;
    const std::scoped_lock lock(std::adopt_lock, m_);
    if (state_ != CONNECTED) return;  // closed since the event
    try {
      if (ex_)  // changeState left it to this thread
        changeState(CLOSED);
      else
        handleReadWrite(events);
    } catch (const std::exception& error) {
      if (state_ != CLOSED) signalException(error.what());
    }
  }

 protected:
  // Who begins an operation holds the context's lock, too, which Gloo's thread waits for. So that
  // thread only ends the connection. Gloo's thread is told, and closes the pair.
  void changeState(state next) noexcept override {
    if (next == CLOSED && begins)
      shutdown(fd_, SHUT_RDWR);
    else
      AdoptedPair::changeState(next);
  }
};

class Context final : public tcp::Context {
 public:
  using tcp::Context::Context;
  std::unique_ptr<gloo::transport::Pair>& createPair(int r) override {
    pairs_[static_cast<std::size_t>(r)] =
        std::make_unique<Pair>(this, device_.get(), r, getTimeout());
    return pairs_[static_cast<std::size_t>(r)];
  }
};

std::shared_ptr<tcp::Device> loopback() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  tcp::attr where;
  where.ai_family = AF_INET;
  where.ai_socktype = SOCK_STREAM;
  where.ai_protocol = 0;
  std::memset(&where.ai_addr, 0, sizeof where.ai_addr);
  std::memcpy(&where.ai_addr, &address, sizeof address);
  where.ai_addrlen = sizeof address;
  return std::make_shared<tcp::Device>(where);
}

class Gloo final : public Transport {
 public:
  explicit Gloo(const TransportOptions& options)
      : rank_(static_cast<std::size_t>(options.rank)),
        world_(static_cast<std::size_t>(options.world)) {
    const WithoutSigpipe held;  // for Gloo's thread, which begins here
    context_ = std::make_shared<Context>(loopback(), options.rank, options.world);
    context_->setTimeout(options.connect_timeout);
    for (int r = 0; r < options.world; ++r)
      if (r != options.rank) context_->createPair(r)->setLocalRank(0);
  }

  bool takes_sockets() const noexcept override { return true; }

  std::string take(const std::vector<int>& sockets) noexcept override {
    const WithoutSigpipe held;
    try {
      for (std::size_t r = 0; r < world_; ++r)
        if (r != rank_) pair(r).take(sockets[r]);
    } catch (const std::exception& error) {
      return std::string("Gloo does not take over the connections: ") + error.what();
    }
    return "";
  }

  std::string begin(std::uint64_t number, std::span<const ByteView> to,
                    std::span<const MutableByteView> from, Memory /*memory*/) noexcept override {
    const WithoutSigpipe held;
    const Begins in_this_thread;
    std::scoped_lock lock(mutex_);
    Move& move = moves_.emplace_back();
    if (interrupted_) return "interrupted";
    move.receiving.resize(world_);
    move.sending.resize(world_);
    std::size_t at = 0;
    try {
      for (; at < world_; ++at) {  // receives first: a sender then need not ask
        if (at == rank_ || from[at].empty()) continue;
        move.receiving[at] = context_->createUnboundBuffer(from[at].data(), from[at].size());
        move.receiving[at]->recv(static_cast<int>(at), number);
      }
      for (at = 0; at < world_; ++at) {
        if (at == rank_ || to[at].empty()) continue;
        move.sending[at] =
            context_->createUnboundBuffer(const_cast<std::byte*>(to[at].data()), to[at].size());
        move.sending[at]->send(static_cast<int>(at), number);
      }
    } catch (const std::exception& error) {
      return of_rank(at, error);
    }
    return "";
  }

  std::string finish(std::chrono::milliseconds timeout) noexcept override {
    const double until = monotonic_seconds() + 1e-3 * static_cast<double>(timeout.count());
    const WithoutSigpipe held;
    const Move& move = moves_.front();  // only `interrupt` comes from another thread
    std::string problem;
    std::size_t at = 0;
    try {
      for (at = 0; at < move.receiving.size() && problem.empty(); ++at)
        if (move.receiving[at] && !move.receiving[at]->waitRecv(nullptr, left(until)))
          problem = "interrupted";
      for (at = 0; at < move.sending.size() && problem.empty(); ++at)
        if (move.sending[at] && !move.sending[at]->waitSend(nullptr, left(until)))
          problem = "interrupted";
    } catch (const std::exception& error) {
      problem = of_rank(at, error);
    }
    std::scoped_lock lock(mutex_);
    moves_.pop_front();
    return problem;
  }

  void interrupt() noexcept override {
    std::scoped_lock lock(mutex_);
    interrupted_ = true;
    for (const Move& move : moves_) {
      for (const auto& buffer : move.receiving)
        if (buffer) buffer->abortWaitRecv();
      for (const auto& buffer : move.sending)
        if (buffer) buffer->abortWaitSend();
    }
    for (std::size_t r = 0; r < world_; ++r)
      if (r != rank_) pair(r).close();
  }

 private:
  Pair& pair(std::size_t r) { return static_cast<Pair&>(*context_->getPair(static_cast<int>(r))); }

  static std::string of_rank(std::size_t rank, const std::exception& error) {
    return "Gloo, rank " + std::to_string(rank) + ": " + error.what();
  }

  static std::chrono::milliseconds left(double until) {
    const double rest = std::max(1.0, (until - monotonic_seconds()) * 1e3);
    return std::chrono::milliseconds(static_cast<std::int64_t>(rest));
  }

  const std::size_t rank_, world_;
  std::shared_ptr<Context> context_;

  std::mutex mutex_;  // all below
  bool interrupted_ = false;
  struct Move {
    std::vector<std::unique_ptr<Buffer>> receiving, sending;  // by rank
  };
  std::deque<Move> moves_;  // begun, not finished
};

}  // namespace
}  // namespace lockstep::comm

LOCKSTEP_PLUGIN(gloo)

LOCKSTEP_EXPORTED void lockstep_transport_library(std::string& library) {
  library = "Gloo " + std::to_string(GLOO_VERSION_MAJOR) + "." +
            std::to_string(GLOO_VERSION_MINOR) + "." + std::to_string(GLOO_VERSION_PATCH);
}

LOCKSTEP_EXPORTED lockstep::comm::Transport* lockstep_open_transport(
    const lockstep::comm::TransportOptions& options, std::string& problem) {
  try {
    return new lockstep::comm::Gloo(options);
  } catch (const std::exception& error) {
    problem = error.what();
    return nullptr;
  }
}
