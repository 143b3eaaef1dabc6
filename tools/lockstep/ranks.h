// The ranks of a run as processes: `--ranks N` starts them on this machine, launchers (torchrun,
// srun, mpirun) start them anywhere; either way each one joins the group.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/comm/connect.h"
#include "lockstep/core/error.h"
#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/recipe/recipe.h"
#include "lockstep/train/memory.h"

namespace lockstep::cli {

struct Launch {
  int ranks;
  int max_restarts;
  bool json;
};

// Starts this very command as `ranks` processes with a secret of their own, waits for them, and
// passes on what stops a run: as SIGTERM, a second Ctrl-C as itself. If signals killed ranks or the
// network failed, it starts the remaining ranks again, at most max_restarts times. Returns the last
// attempt's code: that of the rank that failed first, or kOk. A rank that a signal killed counts as
// kNetwork, and as kPreempted if it was passed on. With `json` one object is printed for all ranks
// and attempts.
Code launch(const Launch& how, const comm::Environment& environment);

// Error(kUsage) if --ranks asks for more ranks than the recipe has lanes.
void require_lanes(int ranks, const recipe::Recipe& recipe);

// Seconds after which a rank that does not answer is given up: LOCKSTEP_DEADLINE, or 60. Throws
// Error(kUsage).
double deadline(const comm::Environment& environment);

// What moves the bytes between ranks: LOCKSTEP_TRANSPORT, or gloo. Throws Error(kUsage).
std::string transport(const comm::Environment& environment);

// A rank that has met the others.
struct Member {
  std::unique_ptr<comm::Group> group;
  // Of this process, as the ranks compared it: nobody need take it twice. Empty if it is alone.
  fingerprint::Fingerprint fingerprint;
};

// This process's group: of one rank, unless a launcher's variables say otherwise. With several,
// LOCKSTEP_SECRET_FILE names the file with the run's secret (32 to 4096 bytes, the same on all
// ranks). `command`: its name, and options that must be alike on all ranks. `device`: the name of
// what this rank computes on, and has open; ranks that have the same GPU have equal shares of its
// memory from now on. Throws Error(kUsage) for bad variables or a bad secret, and what
// comm::connect throws. Collective: yes.
Member join(const comm::Identity& identity, const recipe::Recipe& recipe,
            const std::vector<comm::Credential>& command, const std::string& device,
            const comm::Environment& environment);

// The same for ranks that need have nothing in common except the secret. Collective: yes.
std::unique_ptr<comm::Group> join_any(const comm::Identity& identity, const std::string& device,
                                      const comm::Environment& environment);

// How this process, computing on `device`, will exchange with others: before they have met.
train::Exchanges exchanges_on(const std::string& device, const comm::Environment& environment);

// How this process meets the others: secret, deadline, interface. Throws Error(kUsage).
comm::Options meeting_options(const comm::Identity& identity, const comm::Environment& environment);

// What all ranks must have in common: the self-test, the transport and, if there is one, the
// recipe; where that is native also what its kernels are chosen by. `facts`: of this process, with
// the kernels that the recipe uses.
std::vector<comm::Credential> credentials(const fingerprint::Fingerprint& facts,
                                          const recipe::Recipe* recipe,
                                          const comm::Options& options);

// Does a rank's part of a command. Where there are several, its errors name it.
Code as_rank(const comm::Identity& identity, const std::function<Code()>& part);

// Ends a command: rank 0 shows the result, then all ranks go. A launcher that sees one rank end
// with an error would end the others, perhaps rank 0 before it has said why. Collective: yes.
void show(comm::Group& group, const std::function<void()>& on_rank_0);

}  // namespace lockstep::cli
