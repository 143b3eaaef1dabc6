// Makers of the objectives in the table of objective.cpp, and what they share.
#pragma once

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/objective/objective.h"

namespace lockstep::objective {

// Pictures are sampled in pieces of at most this many, to bound memory. Never affects bits.
inline constexpr std::int64_t kSamplesAtOnce = 16;

std::unique_ptr<Objective> make_ddpm(const Options& options, std::int64_t seed,
                                     const std::vector<std::int64_t>& sample_shape);
std::unique_ptr<Objective> make_gan(const Options& options, std::int64_t seed,
                                    const std::vector<std::int64_t>& sample_shape);

// [n, ...shape]
std::vector<std::int64_t> batch_sizes(std::int64_t n, const std::vector<std::int64_t>& shape);

// Normals [n, ...shape]: sample i from position first + i.
Tensor normals(const numerics::Stream& stream, std::int64_t first, std::int64_t n,
               const std::vector<std::int64_t>& shape);

// The named network as a Denoiser, Generator…: Error(kUsage) if the recipe gave another sort.
template <class T>
T& network_as(const Networks& networks, const std::string& role, const char* sort) {
  auto* network = dynamic_cast<T*>(&network_of(networks, role));
  if (network == nullptr) {
    throw Error(Code::kUsage, role + ".kind: this objective needs " + sort,
                "use " + listed(model::kinds_of(T::kSort)));
  }
  return *network;
}

// Makes `count` samples by make(first, n) in pieces.
template <class Make>
Tensor in_pieces(std::int64_t first, std::int64_t count, const std::vector<std::int64_t>& shape,
                 const Make& make) {
  Tensor all = ops::empty(batch_sizes(count, shape));
  for (std::int64_t done = 0; done < count; done += kSamplesAtOnce) {
    const std::int64_t n = std::min(kSamplesAtOnce, count - done);
    all.narrow(0, done, n).copy_(make(first + done, n));
  }
  return all;
}

}  // namespace lockstep::objective
