// One TCP connection between every two ranks, for a transport that carries bytes over sockets which
// it did not make. Both ends prove who they are before anything else is sent. Ranks listen only
// while they meet.
#pragma once

#include <vector>

#include "control.h"

namespace lockstep::comm {

class Pairs {
 public:
  // Listens at own_address, or at the address of options.interface if that is set.
  Pairs(Rank rank, const Options& options, const Nonce& session, const std::string& own_address);

  std::string address() const;  // where the others reach this rank: "10.0.0.7:41234"

  struct Link {
    Socket socket;        // closed: no connection
    std::string problem;  // why
    Code code = Code::kNetwork;
  };
  // Connects to every rank; returns the links by rank. A rank dials the ranks below it and waits
  // for those above it. It ends early if `control` is stopped. Nothing may be sent before it has
  // returned on all ranks. addresses[r]: what address() says on rank r. Collective: yes.
  std::vector<Link> meet(Control& control, const std::vector<std::string>& addresses);

 private:
  Link call(std::size_t r, const Control& control, const std::string& address, const Wait& wait);
  std::string meeting(std::size_t host) const;  // Door's, for visitors of rank `host`

  const std::size_t rank_;
  const Options& options_;
  const Nonce session_;
  Socket listener_;
};

// A Pairs that listens. If it cannot, it stops the group with that reason.
Pairs meeting_of(Rank rank, const Options& options, const Nonce& session,
                 const std::string& own_address, Control& control);
// Every rank's text, by rank. Collective: yes.
std::vector<std::string> exchange_text(Control& control, const std::string& mine);

// Listens, exchanges addresses and meets. Returns the sockets by rank, when all ranks have theirs.
// The first pair that cannot talk stops the group. Collective: yes.
std::vector<Socket> pair_up(Rank rank, const Options& options, const Nonce& session,
                            const std::string& own_address, Control& control);

}  // namespace lockstep::comm
