// The plug-in liblockstep_cuda.so, loaded when a GPU is asked for.
#include "numerics/cuda/gpu.cuh"
#include "numerics/cuda/kernels-inl.h"

extern "C" lockstep::numerics::Device* lockstep_make_cuda(int number) {
  return new lockstep::numerics::cuda::Device<lockstep::numerics::cuda::Gpu>(
      std::make_unique<lockstep::numerics::cuda::Gpu>(number));
}
