// What `lockstep doctor` asks of a network before a job: the same rendezvous and the same
// connections as a run's, but every pair that cannot talk is found, not only the first.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lockstep/comm/connect.h"

namespace lockstep::comm {

struct Link {
  int from = 0, to = 0;         // `to` listened: from > to
  std::string problem;          // "": they talk
  double round_trip = 0;        // seconds, the best of some
  double bytes_per_second = 0;  // the slower direction
};

struct Survey {
  std::vector<std::string> hosts;  // by rank
  std::vector<Link> links;         // every pair; the same on all ranks
  // What each rank tells, by rank, when all have. At most 1 MiB each. Throws Error(kNetwork).
  // Collective: yes.
  std::function<std::vector<std::string>(const std::string& mine)> tell;
};

// Collective. Throws Error(kNetwork) as connect does if the ranks do not come together. All of it
// takes a few deadlines at most. Bits: never.
Survey survey(const Identity& identity, const Options& options);

// Of this process alone: what rank 0's address means here, and whether it can listen there.
struct Place {
  std::string host;       // as given
  std::string addresses;  // "10.0.0.7, fd00::7"
  bool here = false;      // one of them is this host's
};
// Throws Error(kNetwork): the name is not resolved; the interface is not there; the address is this
// host's and the port is in use (and by whom).
Place look_up(const std::string& host, int port, const Options& options);

}  // namespace lockstep::comm
