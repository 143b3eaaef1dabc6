#include "lockstep/core/clock.h"
#include "lockstep/core/error.h"
#include "rendezvous.h"

namespace lockstep::comm {
namespace {

Bytes join_message(const Options& options) {
  const Bytes out = to_bytes(Join{own_host_name().substr(0, kMostName), options.credentials});
  LOCKSTEP_ASSERT(out.size() <= kMostJoin, "the credentials are too long");
  return out;
}

Joined introduced(const Identity& identity, const Options& options,
                  const std::function<bool()>& stopped) {
  const double until = monotonic_seconds() + options.deadline;
  const auto rank = static_cast<std::uint64_t>(identity.rank.value);
  const auto world = static_cast<std::uint64_t>(identity.world);
  const std::string me = "rank " + std::to_string(rank) + " on " + own_host_name();
  const std::string who = me + ", rank 0 at " + identity.host + ":" + std::to_string(identity.port);
  Joined joined;
  joined.peers.resize(static_cast<std::size_t>(identity.world));
  Peer& rank_0 = joined.peers[0];
  try {
    rank_0.socket = dial(identity.host, identity.port, {until, stopped}, Patience::kNobodyYet);
  } catch (const Error& error) {
    throw error.within(me + " cannot reach rank 0");
  }
  joined.own_address = local_address(rank_0.socket);
  introduce(rank_0, {kProtocol, rank, world, fresh_nonce(options)}, options, "",
            join_message(options), {until, stopped}, who);

  // Rank 0 answers when all ranks have come, or at its own deadline, which may end after ours.
  const Bytes welcome =
      expect(kWelcome, rank_0, kMostBlob, {until + options.deadline, stopped}, who);
  Cursor words(welcome);
  std::ranges::copy(words.bytes(kNonceBytes), joined.session.begin());
  for (int r = 0; r < identity.world; ++r) joined.hosts.push_back(words.text(kMostName));
  return joined;
}

}  // namespace

Joined join(const Identity& identity, const Options& options) {
  try {
    return introduced(identity, options, [&] { return !why_hopeless(options).empty(); });
  } catch (const HostStopped&) {
    throw;
  } catch (const Error&) {  // rank 0 may have gone for the same reason
    const std::string why = why_hopeless(options);
    if (why.empty()) throw;
    throw Error(Code::kNetwork, why);
  }
}

}  // namespace lockstep::comm
