#include "lockstep/comm/identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

using testing::HasSubstr;
using Map = std::map<std::string, std::string>;

Identity of(const Map& variables) {
  return discover([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string error_of(const Map& variables) {
  try {
    return "no error: " + of(variables).sentence;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::kUsage);
    return error.what();
  }
}

Map with(Map map, const Map& more) {
  for (const auto& [key, value] : more) map[key] = value;
  return map;
}

const Map kTorchrun{{"RANK", "2"},
                    {"WORLD_SIZE", "4"},
                    {"LOCAL_RANK", "0"},
                    {"LOCAL_WORLD_SIZE", "2"},
                    {"GROUP_RANK", "1"},
                    {"GROUP_WORLD_SIZE", "2"},
                    {"MASTER_ADDR", "node-a"},
                    {"MASTER_PORT", "29511"},
                    {"TORCHELASTIC_RUN_ID", "x"}};
const Map kSrun{{"SLURM_PROCID", "3"},         {"SLURM_NTASKS", "8"},
                {"SLURM_LOCALID", "1"},        {"SLURM_STEP_ID", "0"},
                {"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_STEP_NODELIST", "gpu[07-08]"},
                {"SLURM_JOB_ID", "1234567"},   {"SLURM_JOB_NAME", "train"}};
const Map kOpenMpi{{"OMPI_COMM_WORLD_RANK", "1"},
                   {"OMPI_COMM_WORLD_SIZE", "3"},
                   {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                   {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};

struct Case {
  const char* name;
  Map variables;
  int rank, world, local_rank, local_size;
  const char* host;
  int port;
  const char* launcher;
};
class Launcher : public testing::TestWithParam<Case> {};

TEST_P(Launcher, IsUnderstood) {
  const Case& wanted = GetParam();
  const Identity found = of(wanted.variables);
  EXPECT_EQ(found.rank, Rank(wanted.rank));
  EXPECT_EQ(found.world, wanted.world);
  EXPECT_EQ(found.local_rank, wanted.local_rank);
  EXPECT_EQ(found.local_size, wanted.local_size);
  EXPECT_EQ(found.host, wanted.host);
  EXPECT_EQ(found.port, wanted.port);
  EXPECT_EQ(found.launcher, wanted.launcher);
  EXPECT_THAT(found.sentence, HasSubstr("rank " + std::to_string(wanted.rank) + " of " +
                                        std::to_string(wanted.world)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Launcher,
    testing::Values(
        Case{"None", {}, 0, 1, 0, 1, "", 0, "none"},
        Case{"EmptyIsUnset", {{"RANK", ""}, {"WORLD_SIZE", ""}}, 0, 1, 0, 1, "", 0, "none"},
        Case{"Torchrun", kTorchrun, 2, 4, 0, 2, "node-a", 29511, "torchrun"},
        Case{"AgentHoldsThePort", with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}}), 2, 4,
             0, 2, "node-a", 29513, "torchrun"},
        Case{"PortOfOurs",
             with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}, {"LOCKSTEP_PORT", "4000"}}),
             2, 4, 0, 2, "node-a", 4000, "torchrun"},
        Case{"AgentsAsTasksOfSrun",
             with(with(kSrun, kTorchrun), {{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "1"}}),
             2, 4, 0, 2, "node-a", 29511, "torchrun"},
        Case{"PyTorchJob",
             {{"RANK", "1"},
              {"WORLD_SIZE", "2"},
              {"MASTER_ADDR", "job-master-0"},
              {"MASTER_PORT", "23456"}},
             1,
             2,
             0,
             1,
             "job-master-0",
             23456,
             "RANK"},
        Case{"DefaultPort",
             {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}},
             1,
             2,
             0,
             1,
             "h",
             29500,
             "RANK"},
        Case{"Srun", kSrun, 3, 4, 1, 2, "gpu07", 19567, "srun"},
        Case{"SrunOnOneNode", with(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "4"}}), 3, 4, 1, 4,
             "gpu07", 19567, "srun"},
        Case{"SrunOnEqualNodes", with(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "2(x2)"}}), 3, 4, 1, 2,
             "gpu07", 19567, "srun"},
        Case{"SrunOnUnequalNodes", with(kSrun, {{"SLURM_STEP_TASKS_PER_NODE", "3,1"}}), 3, 4, 1, 2,
             "gpu07", 19567, "srun"},
        Case{"SrunWithMaster", with(kSrun, {{"MASTER_ADDR", "m"}, {"MASTER_PORT", "5"}}), 3, 4, 1,
             2, "m", 5, "srun"},
        Case{"ByHandUnderSrun",
             with(kSrun, {{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "m"}}), 3, 4, 0, 1,
             "m", 29500, "RANK"},
        Case{"SbatchScript",
             {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}},
             0,
             1,
             0,
             1,
             "",
             0,
             "none"},
        Case{"BatchStep", with(kSrun, {{"SLURM_STEP_ID", "4294967291"}}), 0, 1, 0, 1, "", 0,
             "none"},
        Case{"SrunPty", with(kSrun, {{"SLURM_PTY_PORT", "40000"}}), 0, 1, 0, 1, "", 0, "none"},
        Case{"SrunBash", with(kSrun, {{"SLURM_JOB_NAME", "bash"}, {"SLURM_STEP_NUM_TASKS", "1"}}),
             0, 1, 0, 1, "", 0, "none"},
        Case{"SrunInSalloc", with(kSrun, {{"SLURM_JOB_NAME", "interactive"}}), 3, 4, 1, 2, "gpu07",
             19567, "srun"},
        Case{"OpenMpiOnOneHost", kOpenMpi, 1, 3, 1, 3, "127.0.0.1", 29500, "Open MPI"},
        Case{"OpenMpiInASlurmJob", with(with(kSrun, kOpenMpi), {{"MASTER_ADDR", "m"}}), 1, 3, 1, 3,
             "m", 29500, "Open MPI"},
        Case{"Mvapich2",
             {{"MV2_COMM_WORLD_RANK", "1"},
              {"MV2_COMM_WORLD_SIZE", "2"},
              {"MV2_COMM_WORLD_LOCAL_RANK", "1"},
              {"MV2_COMM_WORLD_LOCAL_SIZE", "2"}},
             1,
             2,
             1,
             2,
             "127.0.0.1",
             29500,
             "MVAPICH2"},
        Case{"Pmi",
             {{"PMI_RANK", "0"},
              {"PMI_SIZE", "2"},
              {"MPI_LOCALRANKID", "0"},
              {"MPI_LOCALNRANKS", "1"},
              {"MASTER_ADDR", "m"}},
             0,
             2,
             0,
             1,
             "m",
             29500,
             "PMI"},
        Case{"KubeflowTrainer",
             {{"PET_NODE_RANK", "1"},
              {"PET_NNODES", "2"},
              {"PET_NPROC_PER_NODE", "1"},
              {"PET_MASTER_ADDR", "p"},
              {"PET_MASTER_PORT", "29400"}},
             1,
             2,
             0,
             1,
             "p",
             29400,
             "PET"},
        Case{"KubeflowTrainerWithTorchrun",
             with(kTorchrun,
                  {{"PET_NODE_RANK", "1"}, {"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "2"}}),
             2, 4, 0, 2, "node-a", 29511, "torchrun"}),
    [](const auto& tested) { return tested.param.name; });

TEST(Identity, SaysWhereTheRankCameFrom) {
  EXPECT_EQ(of(kTorchrun).sentence, "rank 2 of 4 from torchrun (RANK, WORLD_SIZE)");
  EXPECT_EQ(of(kSrun).sentence, "rank 3 of 4 from srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS)");
  EXPECT_EQ(of({{"RANK", "1"},
                {"WORLD_SIZE", "2"},
                {"MASTER_ADDR", "127.0.0.1"},
                {"LOCKSTEP_PARENT", "77"}})
                .sentence,
            "rank 1 of 2 from --ranks 2");
}

TEST(Identity, SaysThatALauncherWasNear) {
  EXPECT_EQ(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}}).note,
            "SLURM_NTASKS is 2, but srun did not start this process: it works alone");
  EXPECT_EQ(of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}).note, "");
  EXPECT_EQ(of({{"SLURM_NTASKS", "4(x2)"}}).note, "");  // not ours to judge
  EXPECT_EQ(of(kSrun).note, "");
  EXPECT_EQ(of({}).note, "");
}

TEST(Identity, APartOfSrunsVariablesIsNothingBesideAnothersWord) {
  const Map part{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}};
  EXPECT_EQ(of(with(kTorchrun, part)).launcher, "torchrun");
  EXPECT_EQ(of(with(kOpenMpi, part)).launcher, "Open MPI");
  EXPECT_EQ(of(with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}}, part)).launcher,
            "RANK");
}

TEST(Identity, RanksOfOurOwnLauncherListenToNobodyElse) {
  const Map own{{"RANK", "1"},
                {"WORLD_SIZE", "2"},
                {"LOCAL_RANK", "1"},
                {"LOCAL_WORLD_SIZE", "2"},
                {"MASTER_ADDR", "127.0.0.1"},
                {"MASTER_PORT", "4711"},
                {"LOCKSTEP_PARENT", "77"}};
  // What a task of one finds, of each launcher; and what rank 0 would do without --ranks.
  for (const Map& others :
       {Map{{"SLURM_PROCID", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
        Map{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
        Map{{"TORCHELASTIC_RUN_ID", "x"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}},
        Map{{"LOCKSTEP_PORT", "5000"}}}) {
    const Identity found = of(with(own, others));
    EXPECT_EQ(found.rank, Rank(1));
    EXPECT_EQ(found.world, 2);
    EXPECT_EQ(found.host + ":" + std::to_string(found.port), "127.0.0.1:4711");
    EXPECT_EQ(found.sentence, "rank 1 of 2 from --ranks 2");
  }
}

TEST(Identity, IncompleteOrContradictoryVariablesAreNamed) {
  const auto expect = [](const Map& variables, const std::vector<std::string>& words) {
    const std::string error = error_of(variables);
    for (const std::string& word : words) EXPECT_THAT(error, HasSubstr(word));
  };
  expect({{"RANK", "1"}}, {"RANK is set but WORLD_SIZE is not"});
  expect({{"WORLD_SIZE", "1"}}, {"WORLD_SIZE is set but RANK is not"});
  expect({{"PMI_SIZE", "2"}}, {"PMI_SIZE", "PMI_RANK"});
  expect({{"RANK", "4"}, {"WORLD_SIZE", "4"}}, {"RANK=4 is not below WORLD_SIZE=4"});
  expect({{"RANK", "-1"}, {"WORLD_SIZE", "4"}}, {"RANK=-1"});
  expect({{"RANK", "1x"}, {"WORLD_SIZE", "4"}}, {"RANK=1x"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "99999999999999999999"}}, {"WORLD_SIZE=9999"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2147483648"}}, {"WORLD_SIZE=2147483648"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "2"}}, {"MASTER_ADDR is not set"});
  for (const std::string host : {"[::1]", "http://a", "a:29500"})
    expect(with(kTorchrun, {{"MASTER_ADDR", host}}),
           {("MASTER_ADDR=" + host + " is no host").c_str(), "the port is MASTER_PORT"});
  expect(with(kTorchrun, {{"LOCAL_RANK", "2"}}), {"LOCAL_RANK=2 is not below LOCAL_WORLD_SIZE=2"});
  expect(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "8"}}), {"LOCAL_WORLD_SIZE=8", "WORLD_SIZE=4"});
  expect({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}}, {"SLURM_STEP_ID is not set"});
  expect({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}, {"SLURM_STEP_ID is not set"});
  expect({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}, {"SLURM_PROCID is not set"});
  expect({{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"LOCAL_RANK", "3"}},
         {"LOCAL_RANK=3 is not below WORLD_SIZE=1"});
  expect(with(kTorchrun, {{"MASTER_PORT", "0"}}), {"MASTER_PORT=0"});
  for (const std::string port : {"65534", "65535"})
    expect(with(kTorchrun, {{"MASTER_PORT", port}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}}),
           {("MASTER_PORT=" + port).c_str(), "LOCKSTEP_PORT"});
  expect(with(kSrun, kTorchrun), {"torchrun and srun disagree", "GROUP_WORLD_SIZE=2", "4 tasks"});
  expect(with(kSrun, {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "m"}}),
         {"rank 0 of 4 from RANK", "rank 3 of 4 from srun"});
  expect(with(kOpenMpi, {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "m"}}),
         {"rank 1 of 2 from RANK", "rank 1 of 3 from Open MPI"});
  expect(with(kOpenMpi, {{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}), {"MASTER_ADDR is not set"});
  expect({{"PET_NODE_RANK", "0"}, {"PET_NNODES", "2"}, {"PET_NPROC_PER_NODE", "8"}},
         {"PET_NPROC_PER_NODE=8", "torchrun"});
  expect({{"PET_NODE_RANK", "0"}, {"PET_NNODES", "1:4"}}, {"PET_NNODES=1:4"});
}

TEST(Identity, FirstHostOfSlurmsList) {
  EXPECT_EQ(first_host("login1"), "login1");
  EXPECT_EQ(first_host("a,b,c"), "a");
  EXPECT_EQ(first_host("gnode[10,20]"), "gnode10");
  EXPECT_EQ(first_host("gpu[008-010,20],login1"), "gpu008");
  EXPECT_EQ(first_host("rack[1-2]node[03-04],x"), "rack1node03");
  EXPECT_EQ(first_host("n[5-6].cluster"), "n5.cluster");
  for (const char* bad : {"", "a[", "a[]", ",b"}) EXPECT_THROW(first_host(bad), Error) << bad;
}

}  // namespace
}  // namespace lockstep::comm
