// How often this program has asked for its GPU (support/gpu/gpu.h).
#pragma once

namespace lockstep::test::gpu {

int calls_for_gpu();

}  // namespace lockstep::test::gpu
