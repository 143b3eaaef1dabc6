#include "fingerprint/gpu.h"

#include <algorithm>
#include <cstddef>

#include "fingerprint/library.h"
#include "lockstep/fingerprint/gpus.h"

namespace lockstep::fingerprint {
namespace {

// Libraries that this process has loaded: others cannot change its bits. PyTorch is built for
// CUDA 13 and for CUDA 12.
void add_loaded(const Gpus& gpus, Fingerprint& facts) {
  if (gpus.cuda_runtime > 0) facts.emplace_back("cuda", cuda_version(gpus.cuda_runtime));
  if (const Library cudnn({"libcudnn.so.9"}, RTLD_NOLOAD); cudnn)
    facts.emplace_back("cudnn", std::to_string(cudnn.ask<std::size_t>("cudnnGetVersion")));
  if (const Library cublas({"libcublasLt.so.13", "libcublasLt.so.12"}, RTLD_NOLOAD); cublas)
    facts.emplace_back("cublas", std::to_string(cublas.ask<std::size_t>("cublasLtGetVersion")));
}

std::string ecc(const Gpu& gpu) {
  return gpu.ecc == Gpu::Ecc::kNone ? "none" : gpu.ecc == Gpu::Ecc::kOn ? "on" : "off";
}

// "1 by NVLink, 2 by PCIe, 3 not".
std::string peers(const Gpu& gpu, const std::vector<Gpu>& all) {
  std::string text;
  for (std::size_t i = 0; i < gpu.peers.size(); ++i) {
    if (gpu.peers[i] == Gpu::Peer::kItself) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(all[i].index) +
            (gpu.peers[i] == Gpu::Peer::kNvLink ? " by NVLink"
             : gpu.peers[i] == Gpu::Peer::kPcie ? " by PCIe"
                                                : " not");
  }
  return text;
}

void add_gpu(const Gpu& gpu, const std::vector<Gpu>& all, const std::string& name,
             Fingerprint& facts) {
  if (!gpu.name.empty()) facts.emplace_back(name, gpu.name);
  facts.emplace_back(name + ".clock", gpu.clock);
  facts.emplace_back(name + ".memory_clock", gpu.memory_clock);
  facts.emplace_back(name + ".ecc", ecc(gpu));
  if (gpu.corrected && gpu.uncorrected)
    facts.emplace_back(name + ".ecc_errors", std::to_string(*gpu.corrected) + " corrected, " +
                                                 std::to_string(*gpu.uncorrected) + " uncorrected");
  facts.emplace_back(name + ".throttling", throttling(gpu));
  if (gpu.peers.size() > 1) facts.emplace_back(name + ".peers", peers(gpu, all));
}

}  // namespace

Fingerprint gpu_facts(const std::string& used) {
  Fingerprint facts;
  const Gpus gpus = find_gpus();
  add_loaded(gpus, facts);
  if (gpus.driver.empty() && gpus.list.empty()) {
    facts.emplace_back("gpu", used.empty() ? "none" : "unknown");
    return facts;
  }
  if (!gpus.driver.empty()) facts.emplace_back("driver", gpus.driver);
  if (gpus.cuda_driver > 0) facts.emplace_back("cuda_driver", cuda_version(gpus.cuda_driver));
  if (used.empty()) {
    for (const Gpu& gpu : gpus.list)
      add_gpu(gpu, gpus.list, "gpu." + std::to_string(gpu.index), facts);
    return facts;
  }
  const auto mine = std::ranges::find(gpus.list, "GPU-" + used, &Gpu::uuid);
  if (mine == gpus.list.end())
    facts.emplace_back("gpu", "unknown");
  else
    add_gpu(*mine, gpus.list, "gpu", facts);
  return facts;
}

}  // namespace lockstep::fingerprint
