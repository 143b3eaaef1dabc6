#include <algorithm>

#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"
#include "lockstep/core/text.h"
#include "rendezvous.h"

namespace lockstep::comm {
namespace {

// Rank 0's side of the rendezvous.
class Gate {
 public:
  Gate(const Identity& identity, const Options& options)
      : options_(options),
        world_(static_cast<std::size_t>(identity.world)),
        where_(identity.host + ":" + std::to_string(identity.port)),
        until_(monotonic_seconds() + options.deadline),
        door_(options.listening_socket >= 0
                  ? Socket(options.listening_socket)
                  : listen_at(identity.host, identity.port, options.interface, until_),
              options, world_, "", "rank 0 at " + where_) {
    joined_.peers.resize(world_);
    joined_.hosts.resize(world_);
    joined_.hosts[0] = own_host_name();
    credentials_.resize(world_);
    credentials_[0] = options.credentials;
  }

  Joined run() {
    while (arrived_ + told_ < world_ && monotonic_seconds() < until_ && still_hopes())
      for (Proved& visitor : door_.serve(std::min(until_, monotonic_seconds() + kAsks)))
        arrive(visitor);
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
  // A rank of this run. It may still be told that it does not fit.
  void arrive(Proved& visitor) {
    Join message;
    try {
      message = read_join(visitor.message);
    } catch (const Error& error) {
      stop("rank " + std::to_string(visitor.hello.rank) + " at " + visitor.from + ": " +
           error.message());
    }
    const std::size_t r = visitor.hello.rank;
    const std::string who = "rank " + std::to_string(r) + " on " + message.host;
    if (visitor.hello.world != world_) {
      stop("the sizes of the world differ: " + who + " is one of " +
           std::to_string(visitor.hello.world) + ", rank 0 on " + joined_.hosts[0] + " one of " +
           std::to_string(world_) + " (start all ranks with the same number)");
    } else if (r >= world_) {
      stop(who + " is beyond a world of " + std::to_string(world_) + " (ranks count from 0)");
    } else if (r == 0 || joined_.peers[r].socket.open()) {
      stop("two processes say they are rank " + std::to_string(r) + ": one on " + joined_.hosts[r] +
           ", one on " + message.host + " at " + visitor.from +
           " (each rank once; is another run using " + where_ + "?)");
    }
    if (!reason_.empty()) {
      tell(visitor.peer);
      ++told_;
      return;
    }
    joined_.peers[r] = std::move(visitor.peer);
    joined_.hosts[r] = message.host;
    credentials_[r] = std::move(message.credentials);
    ++arrived_;
  }

  bool still_hopes() {
    if (!reason_.empty()) return true;  // of telling it to those that come
    reason_ = why_hopeless(options_);
    return reason_.empty();
  }

  void stop(const std::string& reason) {
    if (!reason_.empty()) return;
    reason_ = reason;
    // So that ranks that come a little later hear the reason, too.
    until_ = std::min(until_, monotonic_seconds() + options_.handshake);
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
           fixed(options_.deadline, 1) + " s" + door_.dropped() +
           " (see their logs: not started, another address, a firewall?)";
  }

  // A host's own name is often a loopback address in its /etc/hosts; others cannot reach it there.
  std::string listens() const {
    const std::string address = local_address(door_.listener());
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
    if (const std::string strangers = door_.dropped(); !strangers.empty())
      log::info("rendezvous: all ranks are here" + strangers);
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
  Door door_;
  Joined joined_;
  std::vector<std::vector<Credential>> credentials_;
  std::size_t arrived_ = 1, told_ = 0;  // ranks that fit, and that heard why the run stops
  std::string reason_;                  // to stop; empty: none yet
};

}  // namespace

std::string why_hopeless(const Options& options) {
  return options.hopeless ? options.hopeless() : "";
}

Joined gather(const Identity& identity, const Options& options) {
  return Gate(identity, options).run();
}

}  // namespace lockstep::comm
