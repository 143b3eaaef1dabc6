// How the ranks of a run find each other and make sure that they belong together (messages:
// wire.h).
#pragma once

#include <vector>

#include "door.h"

namespace lockstep::comm {

struct Joined {
  // Control connections by rank: on rank 0 one to every other rank, elsewhere one to rank 0.
  std::vector<Peer> peers;
  std::vector<std::string> hosts;  // names, by rank
  Nonce session;                   // of this rendezvous, the same on all ranks
  std::string own_address;         // at which others reach this host: "10.0.0.7"
};

// Collective: yes. Throws Error(kNetwork). Rank 0 tells its reason to every rank that it can reach.
Joined gather(const Identity& identity, const Options& options);  // rank 0
Joined join(const Identity& identity, const Options& options);    // the others

std::string why_hopeless(const Options& options);  // Options::hopeless, or "" where it is not set

// What differs between the ranks' credentials, one line a field. refused: one that must agree does
// not.
struct Differences {
  std::string lines;
  bool refused = false;
};
Differences compare(const std::vector<std::vector<Credential>>& of_ranks,
                    const std::vector<std::string>& hosts);

}  // namespace lockstep::comm
