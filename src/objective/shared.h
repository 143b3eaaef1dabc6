// What objectives share.
#pragma once

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/objective/objective.h"
#include "lockstep/ops/record.h"

namespace lockstep::objective {

// Pictures are sampled in pieces of at most this many, to bound memory. Never affects bits.
inline constexpr std::int64_t kSamplesAtOnce = 16;

// "ddpm/noise", key of the seed.
numerics::Stream stream_of(const Setting& setting, const std::string& name);

// [n, ...shape]
std::vector<std::int64_t> batch_sizes(std::int64_t n, const std::vector<std::int64_t>& shape);

// Normals [n, ...shape]: sample i from position first + i.
Tensor normals(const numerics::Stream& stream, std::int64_t first, std::int64_t n,
               const std::vector<std::int64_t>& shape);

// The conditions of these samples. Error(kUsage) for a label that is no class.
Tensor condition_of(const SampleRange& range, std::int64_t classes);

// The network with this role, as a Denoiser, Generator…: Error(kUsage) if the recipe gave another
// sort.
template <class T>
std::shared_ptr<T> network_as(const Setting& setting, const std::string& role, const char* sort) {
  for (const Role& one : setting.networks) {
    if (one.name != role) continue;
    if (auto network = std::dynamic_pointer_cast<T>(one.network)) return network;
    throw Error(Code::kUsage, role + ".kind: this objective needs " + sort,
                "use " + listed(model::kinds_of(T::kType)));
  }
  throw Error(Code::kBug, "no network has the role '" + role + "'");
}

// Makes samples by make(numbers of the piece, what to call before each pass) in pieces of so many
// passes.
template <class Make>
Tensor in_pieces(const SampleRange& range, const std::vector<std::int64_t>& shape,
                 std::int64_t passes, const BeforePass& before, const Make& make) {
  const std::int64_t pieces = (range.count + kSamplesAtOnce - 1) / kSamplesAtOnce;
  const double one = 1.0 / static_cast<double>(pieces * passes);
  std::int64_t passed = 0;
  const auto before_each = [&] { before(one * static_cast<double>(passed++)); };
  Tensor all = ops::empty(batch_sizes(range.count, shape));
  for (std::int64_t done = 0; done < range.count; done += kSamplesAtOnce) {
    const std::int64_t n = std::min(kSamplesAtOnce, range.count - done);
    all.narrow(0, done, n)
        .copy_(make(SampleRange{range.first + done, n, range.label}, before_each));
  }
  return all;
}

}  // namespace lockstep::objective
