#include "lockstep/comm/identity.h"

#include <algorithm>
#include <array>

#include "lockstep/core/error.h"
#include "lockstep/core/text.h"

namespace lockstep::comm {
namespace {

constexpr std::int64_t kMostRanks = 4096;  // messages of the rendezvous are sized by it
constexpr std::int64_t kDefaultPort = 29500;

// The variables of one launcher; empty: it does not set that one.
struct Names {
  const char* launcher;
  const char *rank, *world, *local_rank, *local_size;
};
constexpr Names kPlain{"RANK", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"};
constexpr std::array kMpi{
    Names{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "OMPI_COMM_WORLD_LOCAL_SIZE"},
    Names{"MVAPICH2", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK",
          "MV2_COMM_WORLD_LOCAL_SIZE"},
    Names{"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
};

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::optional<std::string> text(const std::string& name) const {
    if (name.empty()) return std::nullopt;
    std::optional<std::string> value = environment_(name);
    if (value && value->empty()) return std::nullopt;
    return value;
  }
  bool has(const std::string& name) const { return text(name).has_value(); }
  bool is(const std::string& name, const std::string& value) const { return text(name) == value; }

  std::optional<std::int64_t> number(const std::string& name, std::int64_t least,
                                     std::int64_t most) const {
    const auto value = text(name);
    if (!value) return std::nullopt;
    const auto parsed = parse_int(*value);
    if (!parsed || *parsed < least || *parsed > most)
      throw Error(Code::kUsage, name + "=" + *value + " is not a whole number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
    return parsed;
  }

 private:
  const Environment& environment_;
};

std::string pair_of(const Identity& identity) {
  return "rank " + std::to_string(identity.rank.value) + " of " + std::to_string(identity.world);
}

// What one launcher says, checked on its own; nothing if it says nothing.
std::optional<Identity> identity_from(const Variables& variables, const Names& names) {
  const auto rank = variables.number(names.rank, 0, kMostRanks - 1);
  const auto world = variables.number(names.world, 1, kMostRanks);
  if (!rank && !world) return std::nullopt;
  if (!rank || !world) {
    const std::string set = rank ? names.rank : names.world;
    const std::string missing = rank ? names.world : names.rank;
    throw Error(Code::kUsage, set + " is set but " + missing + " is not",
                "set both, or unset " + set + " to train with one rank");
  }
  if (*rank >= *world)
    throw Error(Code::kUsage, std::string(names.rank) + "=" + std::to_string(*rank) +
                                  " is not below " + names.world + "=" + std::to_string(*world));
  Identity found;
  found.rank = Rank(*rank);
  found.world = static_cast<int>(*world);
  found.launcher = names.launcher;
  const auto local_rank = variables.number(names.local_rank, 0, kMostRanks - 1);
  const auto local_size = variables.number(names.local_size, 1, kMostRanks);
  found.local_rank = static_cast<int>(local_rank.value_or(0));
  found.local_size = static_cast<int>(local_size.value_or(found.local_rank + 1));
  if (found.local_rank >= found.local_size)
    throw Error(Code::kUsage, std::string(names.local_rank) + "=" + std::to_string(*local_rank) +
                                  " is not below " + names.local_size + "=" +
                                  std::to_string(*local_size));
  if (found.local_size > found.world)
    throw Error(Code::kUsage, (local_size ? std::string(names.local_size) + "=" +
                                                std::to_string(*local_size) + " is more than "
                                          : std::string(names.local_rank) + "=" +
                                                std::to_string(*local_rank) + " is not below ") +
                                  names.world + "=" + std::to_string(*world));
  const std::string by = names.rank;  // by hand: its variable stands for a launcher's name
  found.sentence = pair_of(found) + " from " +
                   (found.launcher == by ? by + " and " + names.world
                                         : found.launcher + " (" + by + ", " + names.world + ")");
  return found;
}

// srun's names for this step, which override those of the job; nothing in a shell.
std::optional<Names> of_srun(const Variables& variables) {
  static constexpr std::int64_t kFirstSpecialStep = 0xfffffff0;  // batch, extern, interactive
  const auto step = variables.text("SLURM_STEP_ID");
  if (!variables.has("SLURM_PROCID") || !step) return std::nullopt;
  if (const auto id = parse_int(*step); !id || *id >= kFirstSpecialStep) return std::nullopt;
  if (variables.has("SLURM_PTY_PORT")) return std::nullopt;
  const bool of_step = variables.has("SLURM_STEP_NUM_TASKS");
  const bool shell =
      variables.is("SLURM_JOB_NAME", "bash") || variables.is("SLURM_JOB_NAME", "interactive");
  // salloc's job is called interactive, and an srun of several tasks in it is still a launch.
  if (shell && (!of_step || variables.is("SLURM_STEP_NUM_TASKS", "1"))) return std::nullopt;
  return Names{"srun", "SLURM_PROCID", of_step ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
               "SLURM_LOCALID", ""};
}

// Of a process that nobody else started: a part of srun's names is a mistake.
void refuse_half_a_task(const Variables& variables) {
  // sbatch's script is process 0, and of no step.
  const bool several = variables.number("SLURM_PROCID", 0, INT64_MAX).value_or(0) > 0 ||
                       variables.number("SLURM_STEP_NUM_TASKS", 1, INT64_MAX).value_or(1) > 1;
  const bool whole = variables.has("SLURM_PROCID") && variables.has("SLURM_STEP_ID");
  if (!several || whole) return;
  throw Error(Code::kUsage,
              std::string("a task of srun has SLURM_PROCID and SLURM_STEP_ID, and ") +
                  (variables.has("SLURM_PROCID") ? "SLURM_STEP_ID" : "SLURM_PROCID") +
                  " is not set",
              "start it by srun, or give RANK, WORLD_SIZE and MASTER_ADDR");
}

// srun gives the tasks of each node, "4,2(x3)". Known for this node only if all have equally many.
void count_local_tasks(const Variables& variables, Identity& srun) {
  const std::string each = variables.text("SLURM_STEP_TASKS_PER_NODE").value_or("");
  if (each.find(',') != std::string::npos) return;
  const auto tasks = parse_int(each.substr(0, each.find('(')));
  if (tasks && *tasks > srun.local_rank && *tasks <= srun.world)
    srun.local_size = static_cast<int>(*tasks);
}

// Kubeflow Trainer's variables are torchrun's options; without torchrun they name one rank a node.
std::optional<Identity> of_pet(const Variables& variables) {
  if (!variables.has("PET_NODE_RANK") && !variables.has("PET_NNODES")) return std::nullopt;
  if (const auto each = variables.text("PET_NPROC_PER_NODE"); each && *each != "1")
    throw Error(Code::kUsage,
                "PET_NPROC_PER_NODE=" + *each + " asks for several ranks a node, this is one",
                "start it with torchrun --no-python");
  return identity_from(variables, Names{"PET", "PET_NODE_RANK", "PET_NNODES", "", ""});
}

void must_agree(const Identity& one, const Identity& other) {
  if (one.rank != other.rank || one.world != other.world)
    throw Error(Code::kUsage, "two launchers disagree: " + one.sentence + ", but " + other.sentence,
                "unset the variables of the one that did not start this process");
}

// torchrun's agent is one task of srun: as many nodes as tasks, or each task trains for itself.
void check_agents(const Variables& variables, const Identity& torchrun, const Identity& srun) {
  const auto nodes = variables.number("GROUP_WORLD_SIZE", 1, kMostRanks);
  if (nodes && *nodes != srun.world)
    throw Error(Code::kUsage,
                "torchrun and srun disagree: GROUP_WORLD_SIZE=" + std::to_string(*nodes) + " for " +
                    pair_of(torchrun) + ", but srun started " + std::to_string(srun.world) +
                    " tasks (" + srun.sentence + ")",
                "one task of srun a node, and torchrun --nnodes with that number");
}

// A rank of --ranks: whatever else is set is meant for the process that started it.
Identity of_ranks(const Variables& variables, Identity plain) {
  plain.sentence = pair_of(plain) + " from --ranks " + std::to_string(plain.world);
  plain.host = variables.text("MASTER_ADDR").value_or("");
  plain.port = static_cast<int>(variables.number("MASTER_PORT", 1, 65535).value_or(kDefaultPort));
  return plain;
}

// Where rank 0 listens.
void find_master(const Variables& variables, Identity& identity) {
  const bool pet = identity.launcher == "PET";
  const std::string address = pet ? "PET_MASTER_ADDR" : "MASTER_ADDR";
  const std::string port = pet ? "PET_MASTER_PORT" : "MASTER_PORT";
  std::int64_t fallback = kDefaultPort;
  if (const auto host = variables.text(address)) {
    if (host->find_first_of("/[]") != host->npos || std::ranges::count(*host, ':') == 1)
      throw Error(Code::kUsage, address + "=" + *host + " is no host",
                  "give its name or address alone, without brackets; the port is " + port);
    identity.host = *host;
  } else if (identity.launcher == "srun") {
    for (const char* list : {"SLURM_STEP_NODELIST", "SLURM_NODELIST", "SLURM_JOB_NODELIST"})
      if (const auto hosts = variables.text(list); hosts && identity.host.empty())
        identity.host = first_host(*hosts);
  } else if (identity.local_size == identity.world) {
    identity.host = "127.0.0.1";
  }
  if (identity.host.empty())
    throw Error(Code::kUsage, identity.sentence + ": " + address + " is not set",
                "set it to the host of rank 0, on every rank");
  if (identity.launcher == "srun")
    if (const auto job = variables.number("SLURM_JOB_ID", 0, INT64_MAX))
      fallback = 15000 + *job % 10000;
  std::int64_t chosen = variables.number(port, 1, 65535).value_or(fallback);
  // Two above: Linux gives odd ports to listeners and even ones to connections. So the port next to
  // one that it chose is often in use, or was a minute ago.
  if (variables.is("TORCHELASTIC_USE_AGENT_STORE", "True")) chosen += 2;
  identity.port = static_cast<int>(variables.number("LOCKSTEP_PORT", 1, 65535).value_or(chosen));
  if (identity.port > 65535)
    throw Error(Code::kUsage,
                port + "=" + std::to_string(chosen - 2) +
                    " is held by torchrun's agent, and no port is two above it",
                "set LOCKSTEP_PORT to a free port of rank 0's host");
}

}  // namespace

Identity discover(const Environment& environment) {
  const Variables variables(environment);
  const auto plain = identity_from(variables, kPlain);
  if (plain && variables.has("LOCKSTEP_PARENT")) return of_ranks(variables, *plain);
  const auto srun_names = of_srun(variables);
  auto srun = srun_names ? identity_from(variables, *srun_names) : std::nullopt;
  if (srun) count_local_tasks(variables, *srun);
  std::optional<Identity> chosen = plain;
  if (plain && variables.has("TORCHELASTIC_RUN_ID")) {
    chosen->launcher = "torchrun";
    chosen->sentence = pair_of(*chosen) + " from torchrun (RANK, WORLD_SIZE)";
    if (srun) check_agents(variables, *chosen, *srun);
  } else if (plain && srun) {
    must_agree(*plain, *srun);
  }
  for (const Names& names : kMpi) {
    const auto found = identity_from(variables, names);
    if (found && chosen && chosen->launcher == "RANK") must_agree(*chosen, *found);
    if (!chosen) chosen = found;
  }
  if (!chosen) chosen = srun;
  if (!chosen) chosen = of_pet(variables);
  if (!chosen) {
    refuse_half_a_task(variables);
    chosen.emplace();
    chosen->launcher = "none";
    chosen->sentence = "rank 0 of 1, started by no launcher";
    // sbatch's script, and a shell in salloc: a launcher was near, and was not asked.
    const std::string tasks = variables.text("SLURM_NTASKS").value_or("");
    if (parse_int(tasks).value_or(1) > 1)
      chosen->note =
          "SLURM_NTASKS is " + tasks + ", but srun did not start this process: it works alone";
  }
  if (chosen->world > 1) find_master(variables, *chosen);
  return *chosen;
}

std::string first_host(const std::string& list) {
  const std::size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end != std::string::npos && list[end] == '[') {
    const std::size_t close = list.find(']', end);
    const std::string inside =
        close == std::string::npos ? "" : list.substr(end + 1, close - end - 1);
    const std::string number = inside.substr(0, inside.find_first_of(",-"));
    if (number.empty())
      throw Error(Code::kUsage, "SLURM_NODELIST=" + list + " has no host in its brackets");
    const std::size_t rest_end = list.find(',', close);
    const std::string rest = list.substr(
        close + 1, rest_end == std::string::npos ? std::string::npos : rest_end - close - 1);
    host += number + (rest.empty() ? "" : first_host(rest));
  }
  if (host.empty()) throw Error(Code::kUsage, "SLURM_NODELIST=" + list + " names no host");
  return host;
}

}  // namespace lockstep::comm
