// GPUs and the libraries that compute on them, as far as this process can use them. They are looked
// up by name at run time: the program needs none of them.
#pragma once

#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::fingerprint {

// "cuda", "cudnn", "cublas", "driver", "cuda_driver", "gpu.0"…: model, clocks in MHz, ECC and its
// errors, throttling, peers. Without a driver only "gpu" -> "none".
Fingerprint gpu_facts();

}  // namespace lockstep::fingerprint
