#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <torch/version.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lockstep/fingerprint/fingerprint.h"
#include "lockstep/hdf5/version.h"
#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/parallel.h"

namespace lockstep::fingerprint {
namespace {

// Variables that change bits somewhere in the stack below us (not in portable numerics).
constexpr const char* kVariables[] = {"LOCKSTEP_ISA",         "OMP_NUM_THREADS",
                                      "OMP_WAIT_POLICY",      "OMP_PROC_BIND",
                                      "KMP_AFFINITY",         "ATEN_CPU_CAPABILITY",
                                      "ONEDNN_MAX_CPU_ISA",   "MKL_CBWR",
                                      "MKL_NUM_THREADS",      "MKL_ENABLE_INSTRUCTIONS",
                                      "CUDA_VISIBLE_DEVICES", "CUBLAS_WORKSPACE_CONFIG",
                                      "NVIDIA_TF32_OVERRIDE", "NCCL_ALGO",
                                      "NCCL_PROTO",           "GLIBC_TUNABLES",
                                      "LD_PRELOAD",           "MALLOC_PERTURB_"};

// Flags of the CPU that choose a code path somewhere.
constexpr const char* kFlags[] = {"fma",      "avx2",     "avx512f",     "avx512bw",
                                  "avx512dq", "avx512vl", "avx512_vnni", "amx_tile",
                                  "sha_ni",   "asimd",    "sve"};

struct Cpu {
  std::string model;
  std::string flags;
};

Cpu read_cpu() {
  Cpu cpu;
  std::ifstream file("/proc/cpuinfo");
  std::string line, words;
  while (std::getline(file, line) && !line.empty()) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size()) continue;
    const std::string value = line.substr(colon + 2);
    if (line.starts_with("model name")) cpu.model = value;
    if (line.starts_with("flags") || line.starts_with("Features")) words = " " + value + " ";
  }
  for (const char* flag : kFlags) {
    if (words.find(std::string(" ") + flag + " ") != std::string::npos)
      cpu.flags += (cpu.flags.empty() ? "" : " ") + std::string(flag);
  }
  return cpu;
}

}  // namespace

Fingerprint take() {
  utsname kernel{};
  uname(&kernel);
  const Cpu cpu = read_cpu();
  Fingerprint facts = {{"lockstep", LOCKSTEP_VERSION},
                       {"self_test", self_test().hex()},
                       {"isa", std::string(numerics::name(numerics::selected_isa()))},
                       {"threads", std::to_string(numerics::threads())},
                       {"cpu", cpu.model},
                       {"cpu_flags", cpu.flags},
                       {"machine", kernel.machine},
                       {"kernel", kernel.release},
                       {"host", kernel.nodename},
                       {"glibc", gnu_get_libc_version()},
                       {"compiler", __VERSION__},
                       {"libtorch", TORCH_VERSION},
                       {"hdf5", hdf5::version()},
                       {"openssl", hash::openssl_version()}};
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name))
      facts.emplace_back(std::string("env.") + name, value);
  }
  return facts;
}

std::string to_json(const Fingerprint& fingerprint) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const auto& [name, value] : fingerprint) object[name] = value;
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lockstep::fingerprint
