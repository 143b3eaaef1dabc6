// NVIDIA's GPUs as their driver describes them (NVML; the library is looked up at run time): what
// the fingerprint records of them, and what deserves a look before a job.
//
// Bits: never. No kernel reads any of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::fingerprint {

struct Gpu {
  int index = 0;                    // NVML's: by the bus; CUDA counts those that it is shown
  std::string name;                 // "NVIDIA H100 80GB HBM3"
  std::string uuid;                 // "GPU-12345678-…"; of a MIG instance it is the whole GPU's
  std::string clock, memory_clock;  // "default of 1980 MHz", "1410 of 1980 MHz", "unknown"
  enum class Ecc { kNone, kOff, kOn } ecc = Ecc::kNone;
  // Memory errors since the driver was loaded; nothing where they are not counted.
  std::optional<std::uint64_t> corrected, uncorrected;
  // Rows of its memory that wait for a reset to be replaced; some that cannot be.
  bool remapping_pending = false, remapping_failed = false;
  // Why its clocks are lower than they could be now: bits of NVML's nvmlClocksEventReasons.
  std::uint64_t reasons = 0;
  // How it reaches the memory of each GPU of this host, itself included.
  enum class Peer { kItself, kNvLink, kPcie, kNone };
  std::vector<Peer> peers;
};

// A GPU that the driver knows and does not reach: fallen off the bus, say.
struct LostGpu {
  int index = 0;
  int error = 0;  // nvmlReturn_t
};

struct Gpus {
  std::string driver;    // "580.65.06"; empty where there is none
  int cuda_driver = 0;   // the newest CUDA that the driver runs: 13000 is 13.0; 0: unknown
  int cuda_runtime = 0;  // CUDA's runtime in this process; 0: none
  std::vector<Gpu> list;
  std::vector<LostGpu> lost;
  std::string unknown;  // why the driver could not be asked for its GPUs; "": it was
};

// Looks at this host; the list is empty without a driver, its NVML or a GPU.
Gpus find_gpus();

// "13.0" of 13000.
std::string cuda_version(int version);
// "power cap, hardware thermal slowdown"; "none" if nothing holds the clocks down. Idle and clocks
// that somebody set are no reason.
std::string throttling(const Gpu& gpu);

struct Warning {
  std::string subject;   // "gpu 0", "gpu 0 - 1", "driver"
  std::string sentence;  // what, and in brackets what to do
};
// Uncorrected errors, rows to be remapped, ECC that is off, clocks held down by heat or power
// supply, GPUs that do not reach each other; lost ones; a driver older than the runtime. In this
// order, GPU by GPU.
std::vector<Warning> warnings(const Gpus& gpus);

}  // namespace lockstep::fingerprint
