#include "pairs.h"

#include <algorithm>
#include <thread>

#include "door.h"
#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/core/thread.h"

namespace lockstep::comm {
namespace {

// Shares of the deadline. The caller knows best why it failed, so it reports first; then the
// called.
constexpr double kCallers = 0.75, kCalled = 0.85;

// Stops the group. If this machine lacks something, its rank ends with that error's own code.
[[noreturn]] void give_up(Control& control, const Error& why) {
  control.abort(why);
  if (why.code() == Code::kEnvironment) throw why;
  control.throw_reason();
}

}  // namespace

Pairs::Pairs(Rank rank, const Options& options, const Nonce& session,
             const std::string& own_address)
    : rank_(static_cast<std::size_t>(rank.value)),
      options_(options),
      session_(session),
      listener_(listen_at(own_address, 0, options.interface)) {}

std::string Pairs::address() const {
  return local_address(listener_) + ":" + std::to_string(local_port(listener_));
}

std::string Pairs::meeting(std::size_t host) const {
  return "pair with rank " + std::to_string(host) + " in " +
         std::string(reinterpret_cast<const char*>(session_.data()), session_.size());
}

Pairs::Link Pairs::call(std::size_t r, const Control& control, const std::string& address,
                        const Wait& wait) {
  const std::size_t colon = address.rfind(':');
  const auto port = parse_int(address.substr(std::min(colon, address.size() - 1) + 1));
  if (colon == std::string::npos || !port) return {Socket(), "'" + address + "' is no address"};
  Peer peer;
  try {
    peer.socket = dial(address.substr(0, colon), static_cast<int>(*port), wait, Patience::kNow);
  } catch (const Error& error) {
    return {Socket(), error.within("it cannot reach " + control.name(r)).what(), error.code()};
  }
  try {
    introduce(peer, {kProtocol, rank_, control.world(), fresh_nonce(options_)}, options_,
              meeting(r), {}, wait, control.name(r) + " at " + address);
  } catch (const Error& error) {
    return {Socket(), error.what(), error.code()};
  }
  return {std::move(peer.socket), ""};
}

std::vector<Pairs::Link> Pairs::meet(Control& control, const std::vector<std::string>& addresses) {
  const std::size_t world = control.world();
  const double started = monotonic_seconds(), deadline = options_.deadline;
  const auto stopped = [&] { return control.reason().has_value(); };
  std::vector<Link> links(world);
  const std::string here = address();
  std::vector<std::jthread> calls;  // joined when this returns: a slow pair delays no other
  for (std::size_t r = 0; r < rank_; ++r)
    calls.push_back(start_thread<std::jthread>([&, r] {
      links[r] = call(r, control, addresses[r], {started + kCallers * deadline, stopped});
    }));
  Door door(std::move(listener_), options_, world, meeting(rank_), control.name(rank_));
  std::size_t missing = world - rank_ - 1;
  while (missing > 0 && monotonic_seconds() < started + kCalled * deadline && !stopped())
    for (Proved& visitor : door.serve(monotonic_seconds() + kAsks)) {
      const std::uint64_t r = visitor.hello.rank;
      if (r <= rank_ || r >= world || links[r].socket) continue;
      links[r].socket = std::move(visitor.peer.socket);
      --missing;
    }
  calls.clear();
  for (std::size_t r = rank_ + 1; r < world; ++r)
    if (!links[r].socket)
      links[r].problem = control.name(r) + " did not come to " + control.name(rank_) + " at " +
                         here + " within " + fixed(monotonic_seconds() - started, 1) + " s" +
                         door.dropped() + " (a firewall? see its log)";
  return links;
}

Pairs meeting_of(Rank rank, const Options& options, const Nonce& session,
                 const std::string& own_address, Control& control) {
  try {
    return {rank, options, session, own_address};
  } catch (const Error& error) {
    give_up(control, error);
  }
}

std::vector<std::string> exchange_text(Control& control, const std::string& mine) {
  std::vector<std::string> all;
  for (const Bytes& of_rank : control.exchange(as_bytes(mine)))
    all.emplace_back(reinterpret_cast<const char*>(of_rank.data()), of_rank.size());
  return all;
}

namespace {

std::vector<Pairs::Link> links_of(Pairs& pairs, Control& control) {
  const std::vector<std::string> addresses = exchange_text(control, pairs.address());
  try {
    return pairs.meet(control, addresses);
  } catch (const Error& error) {
    give_up(control, error);
  }
}

}  // namespace

std::vector<Socket> pair_up(Rank rank, const Options& options, const Nonce& session,
                            const std::string& own_address, Control& control) {
  Pairs pairs = meeting_of(rank, options, session, own_address, control);
  std::vector<Socket> sockets;
  for (Pairs::Link& link : links_of(pairs, control)) {
    if (!link.problem.empty()) give_up(control, {link.code, link.problem});
    if (link.socket) lose_after(link.socket, options.deadline / 2);
    sockets.push_back(std::move(link.socket));
  }
  control.exchange({});
  return sockets;
}

}  // namespace lockstep::comm
