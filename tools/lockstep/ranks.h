// The ranks of a run as processes: `--ranks N` starts them on this machine, launchers (torchrun,
// srun, mpirun) start them anywhere; either way each one joins the group.
#pragma once

#include <memory>

#include "lockstep/comm/connect.h"
#include "lockstep/core/error.h"
#include "lockstep/recipe/recipe.h"

namespace lockstep::cli {

// Starts this very command as `ranks` processes with a secret of their own, waits for them, passes
// SIGTERM and SIGINT on. Returns the code of the rank that failed first, or kOk. A rank that a
// signal killed counts as kNetwork.
Code launch(int ranks, const comm::Environment& environment);

// This process's group: of one rank, unless a launcher's variables say otherwise. With several,
// LOCKSTEP_SECRET_FILE names the file with the run's secret (32 to 4096 bytes, the same on all
// ranks). Throws Error(kUsage) for variables or a secret that will not do, and what
// comm::connect throws. Collective: yes.
std::unique_ptr<comm::Group> join(const comm::Identity& identity, const recipe::Recipe& recipe,
                                  const comm::Environment& environment);

// How this process meets the others: secret, deadline, interface and what all must have in common
// (of a recipe, too, if there is one). Throws Error(kUsage).
comm::Options meeting_options(const comm::Identity& identity, const recipe::Recipe* recipe,
                              const comm::Environment& environment);

}  // namespace lockstep::cli
