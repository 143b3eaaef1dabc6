// GPUs and the libraries that compute on them, as far as this process can use them. They are looked
// up by name at run time: the program needs none of them.
#pragma once

#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::fingerprint {

// "cuda", "cudnn", "cublas", "driver", "cuda_driver"; then of each GPU of the host, "gpu.0"…: model,
// clocks in MHz, ECC and its errors, throttling, peers. Where this process computes on one of them,
// of that alone, "gpu": others do not touch its bits; "unknown" if the driver does not tell (an
// instance of MIG). Without a driver only "gpu" -> "none", or "unknown".
//
// used: numerics::Device::uuid, or "".
Fingerprint gpu_facts(const std::string& used);

}  // namespace lockstep::fingerprint
