// Inside ops: LibTorch's memory of a GPU, which its allocator takes and keeps beside ours.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <functional>

namespace lockstep::ops::native {

// This process's from now on; null, as before the first call: LibTorch has none.
void watch_allocator(c10::DeviceAllocator* allocator, c10::DeviceIndex gpu);

// Calls it. std::bad_alloc if LibTorch's allocator lacked memory meanwhile, even if the call did
// not end with it: where an algorithm of cuDNN does not get its workspace, LibTorch takes another
// one, of other bits, and where none does, it says that there is no algorithm
// (aten/src/ATen/native/cudnn/Conv_v8.cpp, try_configs).
void with_enough_memory(const std::function<void()>& call);

// Gives the GPU back what LibTorch's allocator, if it has one, keeps and does not use.
void give_back_kept();

}  // namespace lockstep::ops::native
