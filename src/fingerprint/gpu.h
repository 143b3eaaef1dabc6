// GPUs and the libraries that compute on them, as far as this process can use them. They are looked
// up by name at run time: the program needs none of them.
#pragma once

#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::fingerprint {

// "driver", "cuda", "cudnn", "cublas", "gpu.0"…: model, clocks in MHz, ECC. Without a driver only
// "gpu" -> "none".
Fingerprint gpu_facts();

}  // namespace lockstep::fingerprint
