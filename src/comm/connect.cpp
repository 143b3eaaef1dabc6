#include "lockstep/comm/connect.h"

#include "connected.h"
#include "lockstep/comm/single_rank.h"
#include "lockstep/core/error.h"
#include "plugin.h"
#include "reason.h"

namespace lockstep::comm {

std::unique_ptr<Group> connect(const Identity& identity, const Options& options) {
  if (identity.world == 1) return std::make_unique<SingleRank>();
  LOCKSTEP_ASSERT(options.mac && options.random, "the secret's functions are not set");
  Joined joined = identity.rank == Rank(0) ? gather(identity, options) : join(identity, options);
  const Nonce session = joined.session;
  const std::string own_address = joined.own_address;
  const TransportOptions how{
      static_cast<int>(identity.rank.value),
      identity.world,
      options.interface,
      std::chrono::milliseconds(static_cast<std::int64_t>(options.deadline * 1000)),
      identity.local_rank,
      options.gpu};
  auto control = std::make_unique<Control>(identity.rank, std::move(joined), options.deadline);
  std::unique_ptr<Transport> transport;
  try {
    transport = open_transport(options.transport, how);
  } catch (const Error& error) {
    control->abort(error);
    throw;
  }
  return std::make_unique<ConnectedGroup>(identity.rank, options, session, own_address,
                                          std::move(control), std::move(transport));
}

}  // namespace lockstep::comm
