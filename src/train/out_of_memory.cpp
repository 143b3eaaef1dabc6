#include "lockstep/train/out_of_memory.h"

namespace lockstep::train {

Error out_of_memory(bool of_gpu, const std::string& lower) {
  if (!of_gpu) return {Code::kEnvironment, "out of memory", lower};
  return {Code::kEnvironment, "out of memory, the GPU's or the host's",
          "nvidia-smi shows who has the GPU's" + (lower.empty() ? "" : "; else " + lower)};
}

}  // namespace lockstep::train
