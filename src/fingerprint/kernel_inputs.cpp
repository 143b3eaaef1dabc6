#include "fingerprint/kernel_inputs.h"

#include "lockstep/numerics/philox.h"

namespace lockstep::fingerprint {

Tensor normals(std::uint32_t key, at::IntArrayRef sizes) {
  Tensor values = ops::empty(sizes);
  ops::device().fill_normal({.key = {key, 0x10c5}, .micro = 0}, 0, 1, values.numel(),
                            ops::write(values));
  return values;
}

void Hasher::add(const Tensor& tensor) {
  if (tensor.defined()) add(ops::HostView(ops::bare(tensor).contiguous()).bytes());
}

hash::Digest hash_of(std::initializer_list<Tensor> tensors) {
  Hasher hasher;
  for (const Tensor& tensor : tensors) hasher.add(tensor);
  return hasher.finish();
}

}  // namespace lockstep::fingerprint
