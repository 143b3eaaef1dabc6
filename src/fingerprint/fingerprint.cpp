#include "lockstep/fingerprint/fingerprint.h"

#include <ATen/Version.h>
#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <torch/version.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "fingerprint/gpu.h"
#include "lockstep/comm/libraries.h"
#include "lockstep/core/error.h"
#include "lockstep/core/json.h"
#include "lockstep/fingerprint/kernels.h"
#include "lockstep/fingerprint/settings.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/hdf5/version.h"
#include "lockstep/numerics/cpu.h"
#include "lockstep/numerics/isa.h"
#include "lockstep/ops/device.h"

namespace lockstep::fingerprint {
namespace {

// Variables that can change bits somewhere below us: in native numerics, or never, but readers want
// to know them.
constexpr const char* kVariables[] = {"LOCKSTEP_ISA",
                                      "LOCKSTEP_TRANSPORT",
                                      "ATEN_CPU_CAPABILITY",
                                      "ONEDNN_MAX_CPU_ISA",
                                      "ONEDNN_CPU_ISA_HINTS",
                                      "ONEDNN_DEFAULT_FPMATH_MODE",
                                      "DNNL_MAX_CPU_ISA",
                                      "MKL_CBWR",
                                      "MKL_NUM_THREADS",
                                      "MKL_DYNAMIC",
                                      "MKL_ENABLE_INSTRUCTIONS",
                                      "OMP_NUM_THREADS",
                                      "OMP_DYNAMIC",
                                      "OMP_PROC_BIND",
                                      "OMP_SCHEDULE",
                                      "OMP_THREAD_LIMIT",
                                      "OMP_WAIT_POLICY",
                                      "KMP_AFFINITY",
                                      "GOMP_CPU_AFFINITY",
                                      "CUDA_VISIBLE_DEVICES",
                                      "CUDA_DEVICE_ORDER",
                                      "CUDA_LAUNCH_BLOCKING",
                                      "CUBLAS_WORKSPACE_CONFIG",
                                      "CUBLASLT_WORKSPACE_SIZE",
                                      "CUBLAS_EMULATE_SINGLE_PRECISION",
                                      "CUBLAS_EMULATION_STRATEGY",
                                      "NVIDIA_TF32_OVERRIDE",
                                      "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
                                      "TORCH_BLAS_PREFER_CUBLASLT",
                                      "TORCH_CUBLASLT_UNIFIED_WORKSPACE",
                                      "DISABLE_ADDMM_CUDA_LT",
                                      "CUDNN_CONV_WSCAP_DBG",
                                      "CUDNN_ERRATA_JSON_FILE",
                                      "PYTORCH_TUNABLEOP_ENABLED",
                                      "TORCH_CUDNN_USE_HEURISTIC_MODE_B",
                                      "TORCH_CUDNN_V8_API_DISABLED",
                                      "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT",
                                      "PYTORCH_ALLOC_CONF",
                                      "PYTORCH_CUDA_ALLOC_CONF",
                                      "NCCL_ALGO",
                                      "NCCL_PROTO",
                                      "NCCL_NVLS_ENABLE",
                                      "NCCL_COLLNET_ENABLE",
                                      "GLIBC_TUNABLES",
                                      "LD_PRELOAD",
                                      "LD_LIBRARY_PATH",
                                      "MALLOC_PERTURB_",
                                      "LOCKSTEP_FILL_MEMORY"};

// Flags of the CPU that choose a code path somewhere.
constexpr const char* kFlags[] = {"fma",      "avx2",        "avx512f",     "avx512bw", "avx512dq",
                                  "avx512vl", "avx512_vnni", "avx512_bf16", "amx_tile", "amx_bf16",
                                  "sha_ni",   "asimd",       "sve"};

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

// "Debian GNU/Linux 12 (bookworm)": PRETTY_NAME of os-release(5).
std::string system_name() {
  std::ifstream file("/etc/os-release");
  const std::string key = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::erase(line, '"');
    return line.substr(key.size());
  }
  return "unknown";
}

// One line, as LibTorch's own text has several.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) line += c == '\n' ? ' ' : c;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// The one that is in use: NCCL's is loaded for nobody else.
std::string transport() {
  const char* const name = std::getenv("LOCKSTEP_TRANSPORT");
  const bool nccl = name != nullptr && std::string_view(name) == "nccl";
  const std::string library = comm::library_of(nccl ? "nccl" : "gloo");
  return library.empty() ? "none" : library;
}

}  // namespace

Fingerprint take(Kernels kernels, ops::Precision precision) {
  std::string refused;  // why native kernels cannot be tried here
  if (kernels == Kernels::kBoth) {
    try {
      require_native_settings(precision);  // first: what it sets belongs to the facts
    } catch (const Error& error) {
      refused = error.message();
    }
  }
  utsname kernel{};
  uname(&kernel);
  const Cpu cpu = read_cpu();
  const numerics::Cpu& host = ops::device().host();
  Fingerprint facts = {{"lockstep", LOCKSTEP_VERSION},
                       {"device", ops::device().name()},
                       {"isa", std::string(numerics::name(host.isa()))},
                       {"threads", std::to_string(host.threads())},
                       {"cpu", cpu.model},
                       {"cpu_flags", cpu.flags},
                       {"machine", kernel.machine},
                       {"system", system_name()},
                       {"kernel", kernel.release},
                       {"host", kernel.nodename},
                       {"glibc", gnu_get_libc_version()},
                       {"compiler", __VERSION__},
                       {"libtorch", TORCH_VERSION},
                       {"libtorch_flags", one_line(at::get_cxx_flags())},
                       {"libtorch_cpu", at::get_cpu_capability()},
                       {"mkl", one_line(at::get_mkl_version())},
                       {"onednn", one_line(at::get_mkldnn_version())},
                       {"openmp", one_line(at::get_openmp_version())},
                       {"transport", transport()},
                       {"hdf5", hdf5::version()},
                       {"openssl", hash::openssl_version()}};
  const std::string uuid = ops::device().uuid();
  if (!uuid.empty()) facts.insert(facts.begin() + 2, {"device_uuid", uuid});
  for (auto& one : gpu_facts(uuid)) facts.push_back(std::move(one));
  for (const char* name : kVariables) {
    if (const char* value = std::getenv(name))
      facts.emplace_back(std::string("env.") + name, value);
  }
  if (kernels == Kernels::kNone) return facts;
  const KernelHashes portable = portable_kernels();
  facts.insert(facts.begin() + 1, {"self_test", self_test(portable).hex()});
  for (const auto& [name, digest] : portable) facts.emplace_back("portable." + name, digest.hex());
  if (kernels == Kernels::kBoth && refused.empty()) {
    try {
      for (const auto& [name, digest] : native_kernels(precision))
        facts.emplace_back("native." + name, digest.hex());
    } catch (const Error& error) {
      refused = error.message();
    }
  }
  if (!refused.empty()) facts.emplace_back("native", refused);
  return facts;
}

std::string fact(const Fingerprint& fingerprint, const std::string& name) {
  for (const auto& [known, value] : fingerprint)
    if (known == name) return value;
  return {};
}

void require_native(const Fingerprint& fingerprint) {
  if (const std::string refused = fact(fingerprint, "native"); !refused.empty())
    throw Error(Code::kEnvironment, "native kernels do not work here: " + refused,
                "use another machine, --device cpu, or portable numerics");
}

void require_self_test(const Fingerprint& fingerprint) {
  const std::string prefix = "portable.";
  const auto refuse = [](const std::string& why) {
    throw Error(Code::kCannotCompare, "it is not a complete fingerprint: " + why,
                "make it anew there, by this version of `lockstep fingerprint --json`");
  };
  KernelHashes hashes;
  for (const GoldenKernel& kernel : golden_kernels()) {
    const std::string name(kernel.name), value = fact(fingerprint, prefix + name);
    if (value.empty()) refuse("it has no " + prefix + name);
    const auto hash = hash::Digest::parse(value);
    if (!hash) refuse(prefix + name + " is not a hash");
    hashes.emplace_back(name, *hash);
  }
  for (const auto& [name, value] : fingerprint)
    if (name.starts_with(prefix) &&
        std::ranges::find(golden_kernels(), name.substr(prefix.size()), &GoldenKernel::name) ==
            golden_kernels().end())
      refuse(name + " is none of this version's kernels");
  if (fact(fingerprint, "self_test") != self_test(hashes).hex())
    refuse("its self_test is not that of its kernels");
}

std::string to_json(const Fingerprint& fingerprint) {
  return json_text(fingerprint, 2);
}

Fingerprint from_json(const std::string& text) {
  Fingerprint facts;
  try {
    const Json object = parse_json(text).value_or(Json());
    for (const auto& [name, value] : object.members())
      facts.emplace_back(name, value.get<std::string>());
  } catch (const JsonError&) {
    throw Error(Code::kCannotCompare, "it is not a fingerprint",
                "give a file that `lockstep fingerprint --json` or a run made");
  }
  return facts;
}

}  // namespace lockstep::fingerprint
