#include "tables.h"

namespace lockstep::cli {
namespace {

constexpr ExitCode kExitCodes[] = {
    {Code::kOk, "done; the evidence holds"},
    {Code::kDiffer, "bits differ"},
    {Code::kUsage, "the command line or the recipe"},
    {Code::kData, "the data set"},
    {Code::kEnvironment, "this machine cannot run this: instruction set, memory, disk, settings"},
    {Code::kCorrupt, "evidence is damaged or not to be trusted"},
    {Code::kNetwork, "peers or network"},
    {Code::kDiverged, "training diverged"},
    {Code::kBug, "a bug of the program"},
    {Code::kPreempted,
     "stopped by a signal; train has saved everything, and the same command continues"},
    {Code::kCannotCompare, "cannot compare"},
};

constexpr Listed kVariables[] = {
    {"LOCKSTEP_ISA",
     "the code path: scalar, avx2, avx512, avx512-vnni or neon; never changes a bit"},
    {"LOCKSTEP_SECRET_FILE",
     "with a launcher: a file of 32 to 4096 random bytes, the same for all ranks, mode 600"},
    {"LOCKSTEP_PORT", "rank 0's port, instead of the launcher's"},
    {"LOCKSTEP_INTERFACE", "the network interface to listen at"},
    {"LOCKSTEP_DEADLINE", "seconds that ranks wait for each other, 60 if not set"},
    {"LOCKSTEP_TRANSPORT", "gloo (if not set) or nccl"},
    {"LOCKSTEP_FILL_MEMORY",
     "1: LibTorch fills fresh memory with NaNs, to find who reads it; native numerics alone"},
    {"RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT",
     "who this rank is and where rank 0 is, from torchrun, PyTorchJob or by hand"},
    {"SLURM_*, OMPI_COMM_WORLD_*, MV2_COMM_WORLD_*, PMI_*, PET_*",
     "the same from srun, mpirun and Kubeflow Trainer"},
    {"TORCHELASTIC_ERROR_FILE", "where torchrun wants to read why a rank ended"},
};

constexpr Listed kRunFiles[] = {
    {"recipe.toml", "the recipe with all its keys"},
    {"ledger.jsonl", "the evidence: a header, then a line a step"},
    {"checkpoints/step-NNNNNNNN.h5", "the whole state after that step"},
    {"checkpoints/step-NNNNNNNN.h5.sha256", "its SHA-256 tree"},
    {"checkpoints/step-NNNNNNNN.h5.sig", "a signed statement about it and the ledger up to it"},
    {"checkpoints/step-NNNNNNNN.h5.interim",
     "empty: that checkpoint is removed when a later one exists"},
    {"features/step-NNNNNNNN.h5",
     "the classifier of [evaluation], and its tree: a copy of its checkpoint"},
    {"samples/step-NNNNNNNN.png", "pictures, with recipe, step and state in them"},
    {"samples/step-NNNNNNNN.npz", "of fields and signals: the values of the same samples"},
    {"classes.txt", "names of the classes, if the data have them; no evidence"},
    {"metrics.jsonl, log.txt", "losses, norms, monitors, times and messages; no evidence"},
    {"replays.jsonl", "what replay recomputed; no evidence"},
    {"environment/attempt-NNN-rank-R.json", "fingerprints of the machines; no evidence"},
    {".lock", "there while a process writes to the folder"},
    {"tensorboard/", "event files of `train --tensorboard`; no evidence"},
    {"report.html", "the page that report makes of all of it"},
};

constexpr Listed kOtherProgramsOptions[] = {
    {"steps", "a key of the recipe: --set run.steps=500"},
    {"max-steps", "a key of the recipe: --set run.steps=500"},
    {"epochs", "a recipe counts steps: --set run.steps=500"},
    {"seed", "a key of the recipe: --set run.seed=2"},
    {"lr", "a key of the recipe: --set model.optimizer.lr=1e-4 (generator.optimizer.lr, …)"},
    {"learning-rate",
     "a key of the recipe: --set model.optimizer.lr=1e-4 (generator.optimizer.lr, …)"},
    {"batch-size", "keys of the recipe: --set batch.samples_per_lane=4, times batch.lanes"},
    {"batch", "keys of the recipe: --set batch.samples_per_lane=4, times batch.lanes"},
    {"data", "a key of the recipe: --set data.path=PATH"},
    {"resume", "the same command continues a run"},
    {"continue", "the same command continues a run"},
    {"checkpoint", "a run continues by itself; a new one starts from another by --from RUN@STEP"},
    {"gpu", "which device: --device cuda:N"},
    {"gpus", "one process a GPU: --ranks N --device cuda"},
    {"config", "the recipe stands without an option: lockstep train RECIPE"},
    {"out", "the run's folder: --run FOLDER"},
    {"output", "the run's folder: --run FOLDER"},
};

}  // namespace

std::span<const Listed> other_programs_options() {
  return kOtherProgramsOptions;
}

std::span<const ExitCode> exit_codes() {
  return kExitCodes;
}

std::span<const Listed> variables() {
  return kVariables;
}

std::span<const Listed> run_files() {
  return kRunFiles;
}

}  // namespace lockstep::cli
