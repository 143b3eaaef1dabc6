// What of a GPU deserves a look before a job.
#include <array>
#include <utility>

#include "lockstep/core/counted.h"
#include "lockstep/fingerprint/gpus.h"

namespace lockstep::fingerprint {
namespace {

// nvmlClocksEventReasons of nvml.h. The power cap is reached under every full load; the others
// protect the hardware.
constexpr std::uint64_t kPowerCap = 0x4;
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 5> kReasons = {
    {{kPowerCap, "power cap"},
     {0x8, "hardware slowdown"},
     {0x20, "software thermal slowdown"},
     {0x40, "hardware thermal slowdown"},
     {0x80, "power brake"}}};

std::string named(std::uint64_t reasons) {
  std::string text;
  for (const auto& [bit, name] : kReasons)
    if ((reasons & bit) != 0) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string subject_of(int index) {
  return "gpu " + std::to_string(index);
}

void look_at(const Gpu& gpu, const std::string& subject, std::vector<Warning>& found) {
  if (gpu.uncorrected.value_or(0) > 0)
    found.push_back(
        {subject, counted(static_cast<std::int64_t>(*gpu.uncorrected), "uncorrected memory error") +
                      " since the driver was loaded: what it computes may be wrong (reset it: "
                      "nvidia-smi -r; replace it if they come back)"});
  if (gpu.remapping_failed)
    found.push_back({subject, "bad rows of its memory could not be remapped (replace it)"});
  else if (gpu.remapping_pending)
    found.push_back(
        {subject, "bad rows of its memory wait for a reset, to be remapped (nvidia-smi -r)"});
  if (gpu.ecc == Gpu::Ecc::kOff)
    found.push_back(
        {subject,
         "ECC is off: nothing finds bits that flip in its memory (nvidia-smi -e 1, then "
         "reset it)"});
  if (const std::string held = named(gpu.reasons & ~kPowerCap); !held.empty())
    found.push_back({subject, "its clocks are held down: " + held +
                                  " (look at its cooling and its power supply)"});
}

}  // namespace

std::string throttling(const Gpu& gpu) {
  const std::string text = named(gpu.reasons);
  return text.empty() ? "none" : text;
}

std::vector<Warning> warnings(const Gpus& gpus) {
  std::vector<Warning> found;
  for (std::size_t i = 0; i < gpus.list.size(); ++i) {
    const std::string subject = subject_of(gpus.list[i].index);
    look_at(gpus.list[i], subject, found);
    for (std::size_t j = i + 1; j < gpus.list[i].peers.size(); ++j)
      if (gpus.list[i].peers[j] == Gpu::Peer::kNone)
        found.push_back(
            {subject + " - " + std::to_string(gpus.list[j].index),
             "they do not reach each other's memory: bytes between them pass through the "
             "host (nvidia-smi topo -p2p r)"});
  }
  for (const LostGpu& gpu : gpus.lost)
    found.push_back({subject_of(gpu.index),
                     "the driver does not reach it, NVML error " + std::to_string(gpu.error) +
                         " (nvidia-smi says more; a lost one wants the machine restarted)"});
  // Within one major version a runtime may be newer than the driver.
  if (!gpus.list.empty() && gpus.cuda_driver > 0 &&
      gpus.cuda_driver / 1000 < gpus.cuda_runtime / 1000)
    found.push_back({"driver", gpus.driver + " runs CUDA " + cuda_version(gpus.cuda_driver) +
                                   " at most, and the runtime is " +
                                   cuda_version(gpus.cuda_runtime) + " (install a newer driver)"});
  return found;
}

}  // namespace lockstep::fingerprint
