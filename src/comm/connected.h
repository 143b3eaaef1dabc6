// A Group over a control plane and a transport.
#pragma once

#include <memory>

#include "line.h"
#include "transport.h"

namespace lockstep::comm {

class ConnectedGroup final : public Group {
 public:
  // Proves to every other rank, over the transport's own connections, which rank this is; every
  // other rank proves the same to it. own_address: the address at which other ranks reach this
  // host. Collective: yes.
  ConnectedGroup(Rank rank, const Options& options, const Nonce& session,
                 const std::string& own_address, std::unique_ptr<Control> control,
                 std::unique_ptr<Transport> transport);
  ~ConnectedGroup() override;

  Rank rank() const override { return Rank(static_cast<std::int64_t>(rank_)); }
  int size() const override { return static_cast<int>(control_->world()); }

  bool takes_device_memory() const override { return transport_->takes_device_memory(); }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory) override;
  void all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) override;
  void broadcast(Rank root, MutableByteView buffer) override;
  void barrier() override;
  std::unique_ptr<Operation> begin_all_to_all(std::span<const ByteView> to,
                                              std::span<const MutableByteView> from,
                                              Memory memory) override;
  std::unique_ptr<Operation> begin_all_gather(ByteView mine, std::span<const MutableByteView> from,
                                              Memory memory) override;
  void abort(const Error& reason) override;

 private:
  using To = std::vector<ByteView>;
  using From = std::vector<MutableByteView>;

  void connect(Rank rank, const Options& options, const Nonce& session,
               const std::string& own_address);
  std::vector<std::string> exchange_addresses();
  void prove(const Options& options, const Nonce& session);

  const std::size_t rank_;
  const int exceptions_;  // in flight when the group was made
  std::unique_ptr<Transport> transport_;
  std::unique_ptr<Control> control_;  // its thread interrupts the transport, so it ends first
  Line line_;
};

}  // namespace lockstep::comm
