// Who am I: the rank, the world and where rank 0 is, from the variables that launchers set.
//
// A rank that --ranks started (LOCKSTEP_PARENT) is what its launcher says. Who else wins where
// several spoke, first to last: RANK and WORLD_SIZE (torchrun, PyTorchJob, by hand),
// Open MPI, MVAPICH2, PMI (MPICH, Intel MPI), srun, PET_* (Kubeflow Trainer without torchrun). An
// agent of torchrun may itself be a task of srun, and mpirun's daemons are, so those are not
// compared; RANK set by hand must agree with all the others. A shell of Slurm (sbatch's script,
// salloc, srun --pty, the job names bash and interactive) is one rank.
//
// Rank 0 is at MASTER_ADDR:MASTER_PORT (PET_MASTER_*). Without them: srun has the first host of the
// node list and 15000 + the job id's last four digits, MPI 127.0.0.1 if all ranks are on one host.
// The port is otherwise 29500. Where torchrun's agent holds MASTER_PORT
// (TORCHELASTIC_USE_AGENT_STORE=True) it is MASTER_PORT + 2. LOCKSTEP_PORT overrides all of these.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "lockstep/core/ids.h"

namespace lockstep::comm {

struct Identity {
  Rank rank{0};
  int world = 1;
  int local_rank = 0;  // among the ranks of this host; 0 of 1 where the launcher does not say
  int local_size = 1;
  std::string host;      // of rank 0; empty in a world of one
  int port = 0;          // of rank 0
  std::string launcher;  // "torchrun", "RANK", "Open MPI", "MVAPICH2", "PMI", "srun", "PET", "none"
  std::string sentence;  // "rank 2 of 4 from torchrun (RANK, WORLD_SIZE)"
  // For people, where a launcher was near and did not start this process; else "".
  std::string note;
};

// The value of a variable, or nothing if it is not set. The program gives getenv, tests give maps.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

// Throws Error(kUsage) that names the variables if some are missing, malformed or contradict
// others. Bits: never.
Identity discover(const Environment& environment);

// The first host of Slurm's list: "gpu[08-10,20],login1" -> "gpu08". Throws Error(kUsage) if it has
// none.
std::string first_host(const std::string& list);

}  // namespace lockstep::comm
