#include "lockstep/comm/connect.h"

#include <cstring>

#include "connected.h"
#include "lockstep/core/error.h"
#include "plugin.h"
#include "reason.h"

namespace lockstep::comm {
namespace {

// A world of one: what it sends itself arrives.
class Alone final : public Group {
 public:
  Rank rank() const override { return Rank(0); }
  int size() const override { return 1; }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory) override {
    check();
    LOCKSTEP_ASSERT(memory == Memory::kHost);
    LOCKSTEP_ASSERT(to.size() == 1 && from.size() == 1 && to[0].size() == from[0].size());
    if (!to[0].empty()) std::memmove(from[0].data(), to[0].data(), to[0].size());
  }
  void all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) override {
    all_to_all({&mine, 1}, from, memory);
  }
  void broadcast(Rank, MutableByteView) override { check(); }
  void barrier() override { check(); }
  void abort(const Error& reason) override {
    if (!reason_) reason_ = reason.within(kGroupStopped);
  }

 private:
  void check() const {
    if (reason_) throw *reason_;
  }
  std::optional<Error> reason_;
};

}  // namespace

std::unique_ptr<Group> connect(const Identity& identity, const Options& options) {
  if (identity.world == 1) return std::make_unique<Alone>();
  LOCKSTEP_ASSERT(options.mac && options.random, "the secret's functions are not set");
  Joined joined = identity.rank == Rank(0) ? gather(identity, options) : join(identity, options);
  const Nonce session = joined.session;
  const std::string own_address = joined.own_address;
  const TransportOptions how{
      kTransportVersion,
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
