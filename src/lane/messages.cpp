#include "lockstep/lane/messages.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "lane/outbox.h"
#include "lockstep/core/error.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/numerics/sealed.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kFloat = sizeof(float);
constexpr std::int64_t kAlignment = 512;  // of an allocation: CUDA's pool has no finer one
// What a kernel reads of a row of a tile, and the flag that it writes.
constexpr std::int64_t kOfRow =
    sizeof(numerics::SealedRow) + sizeof(numerics::SealedTile) + sizeof(float);

std::atomic<const ExpectedScope::Hear*> listener = nullptr;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Partials of a tensor that a rank sends.
std::int64_t rows_of(const Plan& plan, Rank rank) {
  return std::ssize(plan.subtrees(rank));
}

struct Travelling {
  Division division;
  bool sliced = false;  // every rank keeps the slice that it summed
};

// Tensors whose slices travel together.
class Together {
 public:
  Together(const Exchanger& who, std::vector<Travelling> tensors)
      : who_(who), tensors_(std::move(tensors)) {
    const int world = who.plan.partition().world();
    for (Rank rank; rank.value < world; ++rank) rows_ += rows_of(who.plan, rank);
    for (const bool sliced : {false, true}) {
      Parcels& parcels = sliced ? sliced_ : whole_;
      for (Rank rank; rank.value < world; ++rank) {
        if (!sliced) parcels.gathered += parcel(sliced, rank, 1);
        if (rank == who.rank) continue;
        const std::int64_t message = parcel(sliced, rank, rows_of(who.plan, who.rank));
        parcels.out += message;
        parcels.longest = std::max(parcels.longest, message);
        parcels.in += parcel(sliced, who.rank, rows_of(who.plan, rank));
      }
      parcels.sum = parcel(sliced, who.rank, 1);
    }
  }

  // At most, from when partials leave until sums are there. What stays sliced is summed last
  // (Exchange).
  std::int64_t exchanged() const {
    const std::int64_t waiting = sliced_.out + sliced_.in;
    return std::max({whole_.out + whole_.in + waiting, gathered() + waiting,
                     whole_.gathered + sliced_.sum + sliced_.in});
  }
  // While partials are added, and then while sums are on their way: this rank's are there twice.
  std::int64_t gathered() const { return whole_.sum + std::max(whole_.in, whole_.gathered); }
  // Partials, unless what travels are slices alone, and this rank's sums or slices.
  void count(MessageBytes& bytes, bool partials) const {
    const std::int64_t others = who_.plan.partition().world() - 1;
    bytes.sent += others * whole_.sum + (partials ? whole_.out + sliced_.out : 0);
    bytes.longest = std::max(
        {bytes.longest, whole_.sum, partials ? whole_.longest + sliced_.longest : std::int64_t{0}});
  }
  // Of the largest call of a kernel.
  std::int64_t tables() const {
    std::int64_t all = 0;
    for (const auto& [division, sliced] : tensors_)
      all += tiles_in(division.size()) + division.world();
    return aligned(kOfRow * all * std::max<std::int64_t>(rows_, 1));
  }
  std::int64_t floats() const {
    std::int64_t all = 0;
    for (const auto& [division, sliced] : tensors_) all += division.size();
    return all;
  }

 private:
  struct Parcels {
    std::int64_t out = 0, in = 0, sum = 0, gathered = 0;  // bytes
    std::int64_t longest = 0;                             // of what goes out, to one rank
  };

  // parcel.h
  std::int64_t parcel(bool sliced, Rank rank, std::int64_t rows) const {
    std::int64_t bytes = 0;
    for (const Travelling& one : tensors_) {
      if (one.sliced != sliced) continue;
      const std::int64_t size = one.division.slice(rank).size();
      bytes += size * kFloat + tiles_in(size) * static_cast<std::int64_t>(sizeof(hash::Leaf));
    }
    return aligned(rows * bytes);
  }

  const Exchanger& who_;
  const std::vector<Travelling> tensors_;
  std::int64_t rows_ = 0;  // of all ranks
  Parcels whole_, sliced_;
};

// In GPUs' memory, where a bucket is exchanged before the next (buckets_behind).
std::int64_t in_flight(const std::vector<Together>& buckets) {
  std::int64_t most = 0;
  for (const Together& one : buckets) most = std::max(most, one.exchanged() + one.tables());
  return most;
}

// Partials of a bucket are joined and copied to the host; what comes of one is copied back.
std::int64_t passing(const std::vector<Together>& buckets, std::int64_t rows) {
  std::int64_t most = 0;
  for (const Together& one : buckets)
    most = std::max(most, aligned(rows * one.floats() * kFloat) + one.tables());
  return most;
}

}  // namespace

MessageBytes messages_of(const Exchanger& who, const std::vector<Outbox::Expected>& expected) {
  const Partition& partition = who.plan.partition();
  if (partition.world() == 1) return {};
  const std::vector<Division> divisions = divided(partition, expected);
  const std::int64_t rows = rows_of(who.plan, who.rank);
  MessageBytes bytes;
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::int64_t whole = aligned(expected[i].size * kFloat);
    // Divided among the optimisers, slices differ from these by a tile at most.
    const bool sliced = who.divided && expected[i].parameter;
    bytes.kept +=
        sliced ? aligned((divisions[i].slice(who.rank).size() + numerics::kTileFloats) * kFloat)
               : whole;
    bytes.kept += (rows - 1) * whole;
    largest = std::max(largest, whole);
  }
  if (rows > 1) bytes.kept += rows * largest;  // of one the rows, and they together
  std::vector<std::size_t> first = first_of_buckets(expected, who.in_device);
  first.push_back(expected.size());
  std::vector<Together> buckets;
  for (std::size_t b = 0; b + 1 < first.size(); ++b) {
    std::vector<Travelling> tensors;
    for (std::size_t i = first[b]; i < first[b + 1]; ++i)
      tensors.push_back({divisions[i], who.divided && expected[i].parameter});
    buckets.emplace_back(who, std::move(tensors));
  }
  bytes.in_flight = who.elsewhere ? passing(buckets, rows) : in_flight(buckets);
  for (const Together& one : buckets) one.count(bytes, /*partials=*/true);
  return bytes;
}

MessageBytes messages_of_slices(const Exchanger& who, const std::vector<std::int64_t>& sizes) {
  const Partition& partition = who.plan.partition();
  if (partition.world() == 1 || sizes.empty()) return {};
  std::vector<Travelling> tensors;
  for (Division& one : partition.divide(sizes)) tensors.push_back({std::move(one)});
  const std::vector<Together> all = {Together(who, std::move(tensors))};
  MessageBytes bytes;
  bytes.in_flight = who.elsewhere ? passing(all, 1) : all[0].gathered() + all[0].tables();
  all[0].count(bytes, /*partials=*/false);
  return bytes;
}

ExpectedScope::ExpectedScope(Hear hear) : hear_(std::move(hear)) {
  LOCKSTEP_ASSERT(listener == nullptr, "one at a time");
  listener = &hear_;
}

ExpectedScope::~ExpectedScope() {
  listener = nullptr;
}

void tell(const std::vector<Outbox::Expected>& expected) {
  if (const ExpectedScope::Hear* const hear = listener) (*hear)(expected);
}

}  // namespace lockstep::lane
