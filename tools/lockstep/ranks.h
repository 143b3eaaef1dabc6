// The ranks of a run as processes: `--ranks N` starts them on this machine, launchers (torchrun,
// srun, mpirun) start them anywhere; either way each one joins the group.
#pragma once

#include <memory>

#include "lockstep/comm/connect.h"
#include "lockstep/core/error.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

struct Launch {
  int ranks;
  int max_restarts;
};

// Starts this very command as `ranks` processes with a secret of their own, waits for them, passes
// SIGTERM and SIGINT on. Where signals killed ranks or the network failed, it starts the ranks that
// remain again, at most max_restarts times. Returns the last attempt's code: that of the rank that
// failed first, or kOk. A rank that a signal killed counts as kNetwork.
Code launch(const Launch& how, const comm::Environment& environment);

// Seconds after which a rank that does not answer is given up: LOCKSTEP_DEADLINE, or 60. Throws
// Error(kUsage).
double deadline(const comm::Environment& environment);

// This process's group: of one rank, unless a launcher's variables say otherwise. With several,
// LOCKSTEP_SECRET_FILE names the file with the run's secret (32 to 4096 bytes, the same on all
// ranks). Throws Error(kUsage) for variables or a secret that will not do, and what
// comm::connect throws. Collective: yes.
std::unique_ptr<comm::Group> join(const comm::Identity& identity, const recipe::Recipe& recipe,
                                  const std::string& shard, const comm::Environment& environment);

// How this process meets the others: secret, deadline, interface and what all must have in common
// (of a recipe, too, if there is one). Throws Error(kUsage).
comm::Options meeting_options(const comm::Identity& identity, const recipe::Recipe* recipe,
                              const comm::Environment& environment);

}  // namespace lockstep::cli
