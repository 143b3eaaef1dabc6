#include "comm/nccl/machine.h"

#include <cstdlib>

#include "lockstep/core/host.h"

namespace lockstep::comm {
namespace {

std::string driver() {
  int number = 0;
  check(cudaDriverGetVersion(&number), "cudaDriverGetVersion");
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

std::string line_of(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == text.npos) throw std::runtime_error("a rank uses another transport");
  const std::string line(text.substr(0, end));
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace

std::string missing() {
  // It overrides the communicator's own setting, and then no call comes back before its message.
  if (const char* const blocking = std::getenv("NCCL_COMM_BLOCKING");
      blocking && blocking != std::string("0"))
    return std::string("NCCL_COMM_BLOCKING=") + blocking +
           " would take away all deadlines: unset it";
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return "";
  int known = 0;
  if (error == cudaErrorInsufficientDriver &&
      (cudaDriverGetVersion(&known) != cudaSuccess || known == 0))
    return "there is no NVIDIA driver here";
  return std::string("no CUDA device: ") + (error == cudaSuccess || error == cudaErrorNoDevice
                                                ? "the driver shows no GPU"
                                                : cudaGetErrorString(error));
}

std::string version() {
  int number = 0;
  if (ncclGetVersion(&number) != ncclSuccess) return "";
  return "NCCL " + std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}

Machine this_machine(int gpu, bool computes) {
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, gpu), "cudaDeviceGetPCIBusId");
  return {version() + " and a driver of CUDA " + driver(), boot_id() + " " + bus, computes};
}

std::string text_of(const Machine& machine) {
  return machine.versions + "\n" + machine.gpu + "\n" + (machine.computes ? "computes" : "") + "\n";
}

Machine machine_of(std::string_view& text) {
  Machine machine;
  machine.versions = line_of(text);
  machine.gpu = line_of(text);
  machine.computes = line_of(text) == "computes";
  return machine;
}

std::string mismatch(std::size_t rank, const Machine& mine, std::size_t other,
                     const Machine& theirs) {
  const std::string us = "rank " + std::to_string(rank), them = "rank " + std::to_string(other);
  if (mine.versions != theirs.versions)
    return us + " has " + mine.versions + ", " + them + " has " + theirs.versions +
           ": all ranks need the same";
  if (mine.gpu == theirs.gpu)
    return us + " and " + them +
           " are on one GPU, and NCCL needs one a rank: start fewer, or use "
           "LOCKSTEP_TRANSPORT=gloo";
  return "";
}

}  // namespace lockstep::comm
