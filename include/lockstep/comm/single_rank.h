// The group of a rank that is alone: what it sends itself arrives, and nobody else is asked.
#pragma once

#include <optional>

#include "lockstep/comm/group.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {

class SingleRank final : public Group {
 public:
  Rank rank() const override { return Rank(0); }
  int size() const override { return 1; }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory) override;
  void all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) override;
  void broadcast(Rank root, MutableByteView buffer) override;
  void barrier() override;
  void abort(const Error& reason) override;

 private:
  void check() const;  // throws the reason of an abort

  std::optional<Error> reason_;
};

}  // namespace lockstep::comm
