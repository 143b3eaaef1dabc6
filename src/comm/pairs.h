// One TCP connection between every two ranks, proved before anything else is sent: for a transport
// that carries bytes over sockets which it did not make. Each rank listens while they meet; nobody
// does afterwards.
#pragma once

#include <vector>

#include "control.h"

namespace lockstep::comm {

class Pairs {
 public:
  // Listens at `own_address`, or at options.interface's.
  Pairs(Rank rank, const Options& options, const Nonce& session, const std::string& own_address);

  std::string address() const;  // where the others reach this rank: "10.0.0.7:41234"

  struct Link {
    Socket socket;        // closed: there is none
    std::string problem;  // why
    Code code = Code::kNetwork;
  };
  // By rank. Collective; addresses[r] is what rank r's address() said. A rank dials those below it
  // and waits for those above it; ends early if `control` is stopped. Nothing may be sent before
  // all ranks are back from this.
  std::vector<Link> meet(Control& control, const std::vector<std::string>& addresses);

 private:
  Link call(std::size_t r, const Control& control, const std::string& address, const Wait& wait);
  std::string meeting(std::size_t host) const;  // of the visitors of rank `host`

  const std::size_t rank_;
  const Options& options_;
  const Nonce session_;
  Socket listener_;
};

// Pairs that listens; if it cannot, the group is stopped and told why.
Pairs meeting_of(Rank rank, const Options& options, const Nonce& session,
                 const std::string& own_address, Control& control);
// What every rank said, by rank. Collective.
std::vector<std::string> exchange_text(Control& control, const std::string& mine);

// The sockets of such a meeting, by rank, when all ranks have theirs. Collective. The first pair
// that cannot talk stops the group.
std::vector<Socket> pair_up(Rank rank, const Options& options, const Nonce& session,
                            const std::string& own_address, Control& control);

}  // namespace lockstep::comm
