#include "door.h"

#include <poll.h>

#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"

namespace lockstep::comm {
namespace {
constexpr std::size_t kMostVisitors = 256;  // unproved ones at a time, beyond the ranks
constexpr int kMostLines = 20;              // in the log, about strangers
}  // namespace

Door::Door(Socket listener, const Options& options, std::size_t world, std::string meeting,
           std::string where)
    : listener_(std::move(listener)),
      options_(options),
      most_visitors_(kMostVisitors + world),
      meeting_(std::move(meeting)),
      where_(std::move(where)) {}

std::vector<Proved> Door::serve(double until) {
  std::vector<pollfd> waits{{listener_.fd(), POLLIN, 0}};
  for (const Visitor& visitor : visitors_) {
    waits.push_back({visitor.peer.socket.fd(), POLLIN, 0});
    until = std::min(until, visitor.until);
  }
  poll(waits.data(), waits.size(), poll_milliseconds(until));
  std::vector<Proved> proved;
  std::size_t i = 1;
  for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++i) {
    const bool stays = monotonic_seconds() < visitor->until
                           ? waits[i].revents == 0 || hear(*visitor, proved)
                           : drop(*visitor, "it did not prove itself in time");
    visitor = stays ? std::next(visitor) : visitors_.erase(visitor);
  }
  if (waits[0].revents) admit();
  return proved;
}

void Door::admit() {
  while (Socket socket = accept_from(listener_)) {
    Visitor& visitor = visitors_.emplace_back();
    visitor.from = remote_address(socket);
    visitor.peer.socket = std::move(socket);
    visitor.until = monotonic_seconds() + options_.handshake;
    if (visitors_.size() <= most_visitors_) continue;
    drop(visitors_.front(), "too many at a time");
    visitors_.pop_front();
  }
}

// False: the visitor is no longer one.
bool Door::hear(Visitor& visitor, std::vector<Proved>& proved) {
  const bool flows = visitor.peer.reader.fill(visitor.peer.socket);
  try {
    while (const auto frame =
               visitor.peer.reader.next(visitor.stage == Visitor::kJoins ? kMostJoin : kMostHello))
      if (!handle(visitor, *frame, proved)) return false;
  } catch (const Error& error) {
    return drop(visitor, error.message());
  }
  return flows || drop(visitor, "it went away");
}

bool Door::handle(Visitor& visitor, const Frame& frame, std::vector<Proved>& proved) {
  const double soon = monotonic_seconds() + 1;
  if (visitor.stage == Visitor::kSaysHello && frame.type == kHello) {
    visitor.hello = read_hello(frame.payload);
    if (visitor.hello.protocol != kProtocol) {
      Bytes text;
      put_text(text, where_ + " speaks protocol " + std::to_string(kProtocol) + ", this rank " +
                         std::to_string(visitor.hello.protocol) +
                         ": use the same lockstep on all ranks");
      send_frame(visitor.peer.socket, kStopped, text, soon);
      return drop(visitor, "it speaks protocol " + std::to_string(visitor.hello.protocol));
    }
    visitor.nonce = fresh_nonce(options_);
    Bytes challenge(visitor.nonce.begin(), visitor.nonce.end());
    const Mac mine = proof_of("host", visitor);
    challenge.insert(challenge.end(), mine.begin(), mine.end());
    visitor.stage = Visitor::kProves;
    return send_frame(visitor.peer.socket, kChallenge, challenge, soon) ||
           drop(visitor, "it went away");
  }
  if (visitor.stage == Visitor::kProves && frame.type == kProof) {
    if (!same(frame.payload, proof_of("visitor", visitor)))
      return drop(visitor, "it does not know the run's secret");
    visitor.stage = Visitor::kJoins;
    return true;
  }
  if (visitor.stage == Visitor::kJoins && frame.type == kJoin) {
    proved.push_back({visitor.hello, std::move(visitor.peer), visitor.from, frame.payload});
    return false;
  }
  return drop(visitor, "it does not speak Lockstep's protocol");
}

Mac Door::proof_of(const char* role, const Visitor& visitor) const {
  return proof(options_, meeting_ + role, visitor.hello.nonce, visitor.nonce, visitor.hello.rank,
               visitor.hello.world);
}

bool Door::drop(const Visitor& visitor, const std::string& why) {
  ++dropped_;
  last_dropped_ = visitor.from + ": " + why;
  if (visitor.stage == Visitor::kProves)
    last_dropped_ += ", said to be rank " + std::to_string(visitor.hello.rank);
  if (dropped_ <= kMostLines)
    log::warn("rendezvous: dropped the connection of " + last_dropped_ +
              (dropped_ == kMostLines ? "; more of them are only counted" : ""));
  return false;
}

std::string Door::dropped() const {
  if (dropped_ == 0) return "";
  return "; " + std::to_string(dropped_) + " connection(s) dropped, the last of " + last_dropped_;
}

Bytes expect(char type, Peer& host, std::size_t most, const Wait& wait, const std::string& who) {
  std::optional<Frame> frame;
  try {
    frame = read_frame(host.socket, host.reader, most, wait);
  } catch (const Error& error) {
    throw Error(Code::kNetwork, who + ": " + error.message(),
                "something listens there: is it a rank of this run? see that rank's log");
  }
  if (!frame)
    throw Error(Code::kNetwork, who + ": closed the connection",
                type == kWelcome ? "see rank 0's log"
                                 : "another program, or a rank of a run with another secret");
  if (frame->type == kStopped)
    throw HostStopped(Code::kNetwork, Cursor(frame->payload).text(kMostText));
  if (frame->type != type)
    throw Error(Code::kNetwork, who + ": does not speak Lockstep's protocol",
                "another program has this port");
  return frame->payload;
}

void introduce(Peer& host, const Hello& hello, const Options& options, const std::string& meeting,
               ByteView message, const Wait& wait, const std::string& who) {
  send_frame(host.socket, kHello, to_bytes(hello), wait.until);
  const Bytes challenge = expect(kChallenge, host, kMostText + 8, wait, who);
  Cursor cursor(challenge);
  Nonce nonce;
  std::ranges::copy(cursor.bytes(kNonceBytes), nonce.begin());
  const auto proof_of = [&](const char* role) {
    return proof(options, meeting + role, hello.nonce, nonce, hello.rank, hello.world);
  };
  if (!same(cursor.bytes(sizeof(Mac)), proof_of("host")))
    throw Error(Code::kNetwork, who + ": it does not know this run's secret",
                "the same LOCKSTEP_SECRET_FILE on all ranks; or this is another run's port");
  send_frame(host.socket, kProof, proof_of("visitor"), wait.until);
  send_frame(host.socket, kJoin, message, wait.until);
}

}  // namespace lockstep::comm
