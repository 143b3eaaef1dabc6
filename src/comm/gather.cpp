#include <poll.h>

#include <algorithm>
#include <list>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "rendezvous.h"

namespace lockstep::comm {
namespace {

constexpr std::size_t kMostVisitors = 256;  // unproved ones at a time, beyond the ranks

struct Visitor {
  Peer peer;
  std::string from;
  double until;
  enum { kSaysHello, kProves, kJoins } stage = kSaysHello;
  Hello hello{};
  Nonce nonce{};
};

// Rank 0's side of the rendezvous, all visitors at once: a slow one keeps nobody waiting.
class Gate {
 public:
  Gate(const Identity& identity, const Options& options)
      : options_(options),
        world_(static_cast<std::size_t>(identity.world)),
        where_(identity.host + ":" + std::to_string(identity.port)),
        until_(monotonic_seconds() + options.deadline),
        listener_(options.listening_socket >= 0
                      ? Socket(options.listening_socket)
                      : listen_at(identity.host, identity.port, options.interface)) {
    joined_.peers.resize(world_);
    joined_.hosts.resize(world_);
    joined_.hosts[0] = own_host_name();
    credentials_.resize(world_);
    credentials_[0] = options.credentials;
  }

  Joined run() {
    while (arrived_ + told_ < world_ && monotonic_seconds() < until_) serve();
    if (reason_.empty() && arrived_ < world_) reason_ = who_is_missing();
    if (reason_.empty()) check_credentials();
    if (!reason_.empty()) {
      for (std::size_t r = 1; r < world_; ++r)
        if (joined_.peers[r].socket.open()) tell(joined_.peers[r]);
      throw Error(Code::kNetwork, reason_);
    }
    welcome();
    return std::move(joined_);
  }

 private:
  // Waits for the next event and handles all that are there.
  void serve() {
    std::vector<pollfd> waits{{listener_.fd(), POLLIN, 0}};
    double until = until_;
    for (const Visitor& visitor : visitors_) {
      waits.push_back({visitor.peer.socket.fd(), POLLIN, 0});
      until = std::min(until, visitor.until);
    }
    poll(waits.data(), waits.size(), poll_milliseconds(until));
    std::size_t i = 1;
    for (auto visitor = visitors_.begin(); visitor != visitors_.end(); ++i) {
      const bool stays = monotonic_seconds() < visitor->until
                             ? waits[i].revents == 0 || hear(*visitor)
                             : drop(*visitor, "it did not prove itself in time");
      visitor = stays ? std::next(visitor) : visitors_.erase(visitor);
    }
    if (waits[0].revents) admit();
  }

  void admit() {
    while (Socket socket = accept_from(listener_)) {
      Visitor& visitor = visitors_.emplace_back();
      visitor.from = remote_address(socket);
      visitor.peer.socket = std::move(socket);
      visitor.until = monotonic_seconds() + options_.handshake;
      if (visitors_.size() <= kMostVisitors + world_) continue;
      drop(visitors_.front(), "too many at a time");
      visitors_.pop_front();
    }
  }

  // False: the visitor is no longer one. Its bytes are never trusted.
  bool hear(Visitor& visitor) {
    const bool flows = visitor.peer.reader.fill(visitor.peer.socket);
    try {
      while (const auto frame = visitor.peer.reader.next(
                 visitor.stage == Visitor::kJoins ? kMostJoin : kMostHello))
        if (!handle(visitor, *frame)) return false;
    } catch (const Error& error) {
      return drop(visitor, error.message());
    }
    return flows || drop(visitor, "it went away");
  }

  bool handle(Visitor& visitor, const Frame& frame) {
    const double soon = monotonic_seconds() + 1;
    if (visitor.stage == Visitor::kSaysHello && frame.type == kHello) {
      visitor.hello = read_hello(frame.payload);
      if (visitor.hello.protocol != kProtocol) {
        Bytes text;
        put_text(text, "rank 0 at " + where_ + " speaks protocol " + std::to_string(kProtocol) +
                           ", this rank " + std::to_string(visitor.hello.protocol) +
                           ": the same lockstep on all ranks, please");
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
    if (visitor.stage == Visitor::kJoins && frame.type == kJoin) return arrive(visitor, frame);
    return drop(visitor, "it does not speak Lockstep's protocol");
  }

  Mac proof_of(const char* role, const Visitor& visitor) const {
    return proof(options_, role, visitor.hello.nonce, visitor.nonce, visitor.hello.rank,
                 visitor.hello.world);
  }

  // A rank of ours, which may still be told that it does not fit. Always false.
  bool arrive(Visitor& visitor, const Frame& frame) {
    Cursor cursor(frame.payload);
    const std::string host = cursor.text(256);
    std::vector<Credential> credentials;
    for (std::uint32_t left = cursor.u32(); left > 0; --left) {
      Credential& credential = credentials.emplace_back();
      credential.name = cursor.text(256);
      credential.value = cursor.text(kMostText);
      credential.report_only = cursor.u32() != 0;
    }
    const std::size_t r = visitor.hello.rank;
    const std::string who = "rank " + std::to_string(r) + " on " + host;
    if (visitor.hello.world != world_) {
      stop("the sizes of the world differ: " + who + " is one of " +
           std::to_string(visitor.hello.world) + ", rank 0 on " + joined_.hosts[0] + " one of " +
           std::to_string(world_) + " (start all ranks with the same number)");
    } else if (r >= world_) {
      stop(who + " is beyond a world of " + std::to_string(world_) + " (ranks count from 0)");
    } else if (r == 0 || joined_.peers[r].socket.open()) {
      stop("two processes say they are rank " + std::to_string(r) + ": one on " + joined_.hosts[r] +
           ", one on " + host + " at " + visitor.from + " (each rank once; is another run using " +
           where_ + "?)");
    }
    if (!reason_.empty()) {
      tell(visitor.peer);
      ++told_;
      return false;
    }
    joined_.peers[r] = std::move(visitor.peer);
    joined_.hosts[r] = host;
    credentials_[r] = std::move(credentials);
    ++arrived_;
    return false;
  }

  void stop(const std::string& reason) {
    if (!reason_.empty()) return;
    reason_ = reason;
    // Ranks that come a little later hear it, too.
    until_ = std::min(until_, monotonic_seconds() + options_.handshake);
  }

  bool drop(const Visitor& visitor, const std::string& why) {
    ++dropped_;
    last_dropped_ = visitor.from + ": " + why;
    if (visitor.stage == Visitor::kProves)
      last_dropped_ += ", said to be rank " + std::to_string(visitor.hello.rank);
    log::warn("rendezvous: dropped the connection of " + last_dropped_);
    return false;
  }

  void tell(Peer& peer) {
    Bytes text;
    put_text(text, cut(reason_));
    send_frame(peer.socket, kStopped, text, monotonic_seconds() + 1);
  }

  std::string who_is_missing() const {
    std::string missing;
    for (std::size_t r = 1; r < world_; ++r)
      if (!joined_.peers[r].socket.open())
        missing += (missing.empty() ? "rank " : ", rank ") + std::to_string(r);
    return missing + " of " + std::to_string(world_) + " did not come to rank 0 on " +
           joined_.hosts[0] + " at " + where_ + listens() + " within " +
           fixed(options_.deadline, 1) + " s" +
           (dropped_ ? "; " + std::to_string(dropped_) + " connection(s) dropped, the last of " +
                           last_dropped_
                     : "") +
           " (see their logs: not started, another address, a firewall?)";
  }

  // A host's own name is often a loopback address in its /etc/hosts: others then find nobody.
  std::string listens() const {
    const std::string address = local_address(listener_);
    if (where_.starts_with(address + ":")) return "";
    const bool loopback = address.starts_with("127.") || address == "::1";
    return " (which is " + address + " here" +
           (loopback ? ", a loopback address that no other host reaches)" : ")");
  }

  void check_credentials() {
    const Differences differences = compare(credentials_, joined_.hosts);
    if (differences.refused)
      reason_ = "the ranks do not belong together: " + differences.lines;
    else if (!differences.lines.empty())
      log::warn("the ranks differ: " + differences.lines);
  }

  void welcome() {
    joined_.session = fresh_nonce(options_);
    joined_.own_address = local_address(joined_.peers[1].socket);
    Bytes out(joined_.session.begin(), joined_.session.end());
    for (const std::string& host : joined_.hosts) put_text(out, host);
    for (std::size_t r = 1; r < world_; ++r)
      send_frame(joined_.peers[r].socket, kWelcome, out, monotonic_seconds() + 1);
  }

  const Options& options_;
  const std::size_t world_;
  const std::string where_;
  double until_;
  Socket listener_;
  std::list<Visitor> visitors_;
  Joined joined_;
  std::vector<std::vector<Credential>> credentials_;
  std::size_t arrived_ = 1, told_ = 0;  // ranks that fit, and that heard why the run stops
  std::string reason_;                  // to stop; empty: none yet
  int dropped_ = 0;
  std::string last_dropped_;
};

}  // namespace

Joined gather(const Identity& identity, const Options& options) {
  return Gate(identity, options).run();
}

}  // namespace lockstep::comm
