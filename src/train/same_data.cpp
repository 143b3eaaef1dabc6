#include "train/same_data.h"

#include <algorithm>
#include <array>

#include "lockstep/comm/gather.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "train/collectives.h"

namespace lockstep::train {
namespace {

// What differs between this many samples of two data sets: "sample 17 and 2 more".
std::string places(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  std::size_t first = 0, count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && count++ == 0) first = i;
  }
  if (count == 0) return "its description";
  return "sample " + std::to_string(first) +
         (count == 1 ? "" : " and " + std::to_string(count - 1) + " more");
}

std::vector<std::uint64_t> hashes_of_samples(const data::Dataset& dataset) {
  std::vector<float> values(static_cast<std::size_t>(dataset.sample_values()));
  std::vector<std::uint64_t> hashes;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    dataset.read(Sample(i), values.data());
    Bytes label;
    if (dataset.classes() > 0)
      put_u64_le(label, static_cast<std::uint64_t>(dataset.label(Sample(i))));
    hashes.push_back(get_u64_le(
        hash::Sha256().update(std::as_bytes(std::span(values))).update(label).finish().bytes));
  }
  return hashes;
}

}  // namespace

void require_same_data(comm::Group& group, const data::Dataset& dataset) {
  const auto hashes = comm::gather(group, std::vector{dataset.hash()});
  const auto odd = std::ranges::find_if(hashes, [&](const auto& one) { return one != hashes[0]; });
  if (odd == hashes.end()) return;
  const auto rank = static_cast<std::size_t>(odd - hashes.begin());
  const auto both = [&](const std::string& of_odd, const std::string& of_first) {
    return ", rank " + std::to_string(rank) + " has " + of_odd + ", rank 0 has " + of_first;
  };
  using Sizes = std::array<std::int64_t, 2>;
  const auto sizes =
      comm::gather(group, std::vector{Sizes{dataset.size(), dataset.sample_values()}});
  std::string where = both((*odd)[0].brief(), hashes[0][0].brief());
  if (std::ranges::any_of(sizes, [&](const auto& one) { return one != sizes[0]; })) {
    const auto text = [&](std::size_t r) {
      return counted(sizes[r][0][0], "sample") + " of " + counted(sizes[r][0][1], "value");
    };
    if (sizes[rank] != sizes[0]) where = both(text(rank), text(0));
  } else {
    const auto samples = comm::gather(group, hashes_of_samples(dataset));
    where = " in " + places(samples[rank], samples[0]) + where;
  }
  comm::await_all(group);
  throw Error(Code::kData, "the data set differs" + where, "give every rank the same");
}

}  // namespace lockstep::train
