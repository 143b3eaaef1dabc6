#include "control.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/core/thread.h"
#include "reason.h"

namespace lockstep::comm {
namespace {

constexpr double kSendWithin = 1;  // seconds; a peer that does not take 100 bytes by then is lost
constexpr double kCloseWithin = 1;

int new_event() {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0)
    throw Error(Code::kEnvironment, "cannot make an event: " + errno_text(errno),
                "raise the limit on open files (ulimit -n)");
  return event;
}

Bytes to_bytes(const Error& reason) {
  Bytes out;
  put_u32_le(out, static_cast<std::uint32_t>(reason.code()));
  put_text(out, reason.message());
  return out;
}

Error read_reason(Cursor cursor) {
  const Code code = code_for_others(static_cast<Code>(cursor.u32()));
  return {code, cursor.text(kMostText)};
}

std::chrono::duration<double> seconds(double count) {
  return std::chrono::duration<double>(count);
}

}  // namespace

Control::Control(Rank rank, Joined joined, double deadline)
    : rank_(static_cast<std::size_t>(rank.value)),
      deadline_(deadline),
      silence_(deadline / 2),
      hosts_(std::move(joined.hosts)),
      peers_(std::move(joined.peers)),
      last_heard_(hosts_.size(), monotonic_seconds()),
      left_(hosts_.size()),
      wake_(new_event()),
      begun_(hosts_.size()),
      offered_(hosts_.size()),
      thread_(start_thread<std::jthread>([this] { run(); })) {}

Control::~Control() {
  {
    std::scoped_lock lock(mutex_);
    closing_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
}

std::string Control::name(std::size_t rank) const {
  return "rank " + std::to_string(rank) + " on " + hosts_[rank];
}

std::vector<Bytes> Control::exchange(ByteView mine) {
  LOCKSTEP_ASSERT(mine.size() <= kMostBlob);
  if (rank_ == 0)
    contribute(0, Bytes(mine.begin(), mine.end()));
  else
    send(0, kExchange, mine, monotonic_seconds() + silence_ / 2);
  std::unique_lock lock(mutex_);
  const bool done = changed_.wait_for(lock, seconds(deadline_),
                                      [&] { return exchanged_.has_value() || reason_; });
  if (exchanged_) {
    std::vector<Bytes> all = std::move(*exchanged_);
    exchanged_.reset();
    return all;
  }
  lock.unlock();
  if (!done)
    abort({Code::kNetwork,
           "an exchange of addresses did not finish in " + fixed(deadline_, 1) + " s"});
  throw_reason();
}

// Rank 0: once it has all ranks' bytes, it sends them to every rank.
void Control::contribute(std::size_t r, Bytes blob) {
  std::vector<Bytes> all;
  {
    std::scoped_lock lock(mutex_);
    offered_[r] = std::move(blob);
    if (!std::ranges::all_of(offered_, [](const auto& one) { return one.has_value(); })) return;
    for (auto& one : offered_) all.push_back(std::move(*one));
    offered_.assign(offered_.size(), std::nullopt);
  }
  Bytes out;
  for (const Bytes& one : all)
    put_text(out, {reinterpret_cast<const char*>(one.data()), one.size()});
  const double until = monotonic_seconds() + silence_ / 2;  // who waits hears no ping meanwhile
  for (std::size_t peer = 1; peer < world(); ++peer)
    send(peer, kExchange, out, std::max(until, monotonic_seconds() + kSendWithin));
  std::scoped_lock lock(mutex_);
  exchanged_ = std::move(all);
  changed_.notify_all();
}

std::uint64_t Control::begin() {
  std::scoped_lock lock(mutex_);
  if (reason_) throw reason_->within(kGroupStopped);
  return ++begun_[rank_];
}

std::optional<Error> Control::reason(double wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, seconds(wait), [&] { return reason_.has_value(); });
  return reason_;
}

void Control::throw_reason() {
  throw reason().value_or(Error(Code::kNetwork, "no reason is known")).within(kGroupStopped);
}

void Control::abort(const Error& why) {
  if (reason()) return;
  const Error full(code_for_others(why.code()), cut(name(rank_) + ": " + why.what()));
  if (rank_ != 0) {
    send(0, kAbort, to_bytes(full));
    if (reason(kSendWithin)) return;  // rank 0 decides which reason was the first
  }
  stop(full);
}

std::string Control::laggards(std::uint64_t number) {
  std::scoped_lock lock(mutex_);
  std::string names;
  for (std::size_t r = 0; r < world(); ++r)
    if (begun_[r] < number) names += (names.empty() ? "" : ", ") + name(r);
  return names;
}

void Control::on_stop(std::function<void()> interrupt) {
  {
    std::scoped_lock lock(mutex_);
    interrupt_ = std::move(interrupt);
    if (!reason_ || !interrupt_) return;
  }
  interrupt_();
}

void Control::stop(const Error& reason) {
  std::function<void()> interrupt;
  {
    std::scoped_lock lock(mutex_);
    if (reason_) return;
    reason_ = reason;
    interrupt = interrupt_;
    changed_.notify_all();
  }
  if (rank_ == 0) {
    for (std::size_t r = 1; r < world(); ++r) send(r, kStopped, to_bytes(reason));
  }
  if (interrupt) interrupt();
}

void Control::send(std::size_t r, char type, ByteView payload) {
  send(r, type, payload, monotonic_seconds() + kSendWithin);
}

void Control::send(std::size_t r, char type, ByteView payload, double until) {
  std::scoped_lock lock(sending_);
  // Nothing may follow a part of a frame: the peer sees the connection end.
  if (peers_[r].socket && !send_frame(peers_[r].socket, type, payload, until))
    shutdown(peers_[r].socket.fd(), SHUT_WR);
}

void Control::lost(std::size_t r, const std::string& how) {
  {
    std::scoped_lock lock(sending_);
    peers_[r].socket = Socket();
  }
  if (!left_[r]) stop({Code::kNetwork, cut(name(r) + " was lost: " + how)});
}

void Control::ping() {
  Bytes counts;
  {
    std::scoped_lock lock(mutex_);
    if (rank_ == 0)
      for (const std::uint64_t count : begun_) put_u64_le(counts, count);
    else
      put_u64_le(counts, begun_[rank_]);
  }
  for (std::size_t r = 0; r < world(); ++r)
    if (!left_[r]) send(r, kPing, counts);
}

void Control::run() {
  const double interval = silence_ / 8;
  double next_ping = monotonic_seconds();
  for (;;) {
    {
      std::scoped_lock lock(mutex_);
      if (closing_) break;
    }
    const double now = monotonic_seconds();
    if (now >= next_ping) {
      ping();
      next_ping = now + interval;
    }
    listen(next_ping);
    // Nobody was silent while this process did not listen: stopped, or its machine.
    const double woke = monotonic_seconds(), late = woke - next_ping;
    if (late > interval)
      for (double& heard : last_heard_) heard = std::min(heard + late, woke);
    for (std::size_t r = 0; r < world(); ++r)
      if (peers_[r].socket && !left_[r] && woke > last_heard_[r] + silence_)
        lost(r, "no sign of life for " + fixed(silence_, 1) +
                    " s (stopped, its machine or the network is down; or LOCKSTEP_DEADLINE is too "
                    "short for a slow network)");
  }
  // If unread bytes remain at close, our last words are lost: wait until the others have read.
  if (!reason())
    for (std::size_t r = 0; r < world(); ++r) send(r, kGoodbye, {});
  for (Peer& peer : peers_)
    if (peer.socket) shutdown(peer.socket.fd(), SHUT_WR);
  left_.assign(world(), true);
  const double until = monotonic_seconds() + kCloseWithin;
  while (!all_closed() && monotonic_seconds() < until) listen(until);
}

bool Control::all_closed() {
  return std::ranges::none_of(peers_, [](const Peer& peer) { return peer.socket.open(); });
}

void Control::listen(double until) {
  std::vector<pollfd> waits{{wake_, POLLIN, 0}};
  std::vector<std::size_t> of;
  for (std::size_t r = 0; r < world(); ++r)
    if (peers_[r].socket) {
      waits.push_back({peers_[r].socket.fd(), POLLIN, 0});
      of.push_back(r);
    }
  if (poll(waits.data(), waits.size(), poll_milliseconds(until)) <= 0) return;
  eventfd_t woken;
  if (waits[0].revents) eventfd_read(wake_, &woken);
  for (std::size_t i = 0; i < of.size(); ++i)
    if (waits[i + 1].revents) hear(of[i]);
}

void Control::hear(std::size_t r) {
  const bool flows = peers_[r].reader.fill(peers_[r].socket);
  last_heard_[r] = monotonic_seconds();
  const std::size_t most = rank_ == 0 ? kMostBlob : world() * (kMostBlob + 8);
  try {
    while (const auto frame = peers_[r].reader.next(most)) handle(r, *frame);
  } catch (const Error& error) {
    lost(r, error.message());
    return;
  }
  if (!flows) lost(r, "its connection closed without goodbye (killed or crashed? see its log)");
}

void Control::handle(std::size_t r, const Frame& frame) {
  Cursor cursor(frame.payload);
  switch (frame.type) {
    case kPing: {
      std::scoped_lock lock(mutex_);
      if (rank_ == 0) begun_[r] = cursor.u64();
      for (std::size_t i = 0; rank_ != 0 && i < world(); ++i) {
        const std::uint64_t count = cursor.u64();
        if (i != rank_) begun_[i] = count;
      }
      break;
    }
    case kAbort:
    case kStopped:
      stop(read_reason(cursor));
      break;
    case kGoodbye:
      left_[r] = true;
      break;
    case kExchange:
      if (rank_ == 0) {
        contribute(r, frame.payload);
      } else {
        std::vector<Bytes> all;
        for (std::size_t i = 0; i < world(); ++i) {
          const ByteView blob = cursor.bytes(cursor.u64());
          all.emplace_back(blob.begin(), blob.end());
        }
        std::scoped_lock lock(mutex_);
        exchanged_ = std::move(all);
        changed_.notify_all();
      }
      break;
    default:
      throw Error(Code::kNetwork, "it sent a message of no known type");
  }
}

}  // namespace lockstep::comm
