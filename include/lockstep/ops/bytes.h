// A tensor's bytes: what every hash, checkpoint and archive holds of it.
#pragma once

#include <bit>
#include <span>

#include "lockstep/core/bytes.h"
#include "lockstep/ops/record.h"

namespace lockstep::ops {

static_assert(std::endian::native == std::endian::little, "floats are kept as they lie in memory");

// As `read` sees the values, binary32 in little-endian order; none of an undefined tensor. Valid as
// long as the tensor's memory.
inline ByteView bytes(const Tensor& x) {
  if (!x.defined()) return {};
  return std::as_bytes(std::span(read(x), static_cast<std::size_t>(x.numel())));
}

}  // namespace lockstep::ops
