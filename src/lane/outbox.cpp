#include <deque>
#include <optional>

#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"
#include "lockstep/ops/device.h"

namespace lockstep::lane {
namespace {

// A bucket is closed when it holds this much: the first leaves early, the others are so large that
// waiting for messages does not matter.
constexpr std::int64_t kFirstBucketFloats = 1 << 18;  // 1 MiB
constexpr std::int64_t kBucketFloats = 1 << 20;

// Who sums what, balanced over the whole list; what stays sliced is summed where it is kept.
std::vector<Division> divided(const Partition& partition,
                              const std::vector<Outbox::Expected>& expected) {
  std::vector<std::int64_t> sizes;
  for (const Outbox::Expected& one : expected) sizes.push_back(one.size);
  std::vector<Division> divisions = partition.divide(sizes);
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (expected[i].kept) divisions[i] = *expected[i].kept;
  return divisions;
}

}  // namespace

// Shared with the jobs that exchange them.
struct Outbox::Buckets {
  struct Bucket {
    std::size_t first = 0, last = 0;    // numbers in the list
    std::size_t missing = 0;            // not put yet
    std::vector<std::size_t> numbers;   // of what is sent
    std::vector<Contribution> content;  // the same
    std::optional<Exchange> exchange;
    std::vector<Tensor> whole;  // its result
  };

  // Job `i`: bucket i leaves; meanwhile bucket i - 1 arrives and is summed, and the sums of bucket
  // i - 2 arrive.
  void advance(comm::Group& group, std::size_t i) {
    if (failed) return;                             // the job that failed says why
    const ops::DeviceScope here(*device, tensors);  // perhaps in a thread of the group's
    failed = true;
    if (i < all.size()) all[i].exchange.emplace(plan, group, all[i].content);
    if (i >= 1 && i - 1 < all.size()) all[i - 1].exchange->sum();
    if (i >= 2) {
      all[i - 2].whole = all[i - 2].exchange->finish();
      all[i - 2].exchange.reset();  // with what arrived
    }
    failed = false;
  }

  const Plan plan;
  const std::unique_ptr<numerics::Device> device = ops::device().another();
  const at::Device tensors = ops::tensors_device();
  std::deque<Bucket> all;
  bool failed = false;  // while a job is under way, and for good if it throws
};

Outbox::Outbox(const Plan& plan, comm::Group& group, std::vector<Expected> expected)
    : group_(group),
      expected_(std::move(expected)),
      divisions_(divided(plan.partition(), expected_)),
      put_(expected_.size()),
      buckets_(new Buckets{.plan = plan, .all = {}}) {
  std::int64_t floats = kBucketFloats;  // of the last bucket
  auto& buckets = buckets_->all;
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (floats >= (buckets.size() == 1 ? kFirstBucketFloats : kBucketFloats)) {
      buckets.emplace_back().first = i;
      floats = 0;
    }
    Buckets::Bucket& bucket = buckets.back();
    bucket.last = i + 1;
    ++bucket.missing;
    floats += expected_[i].size;
    bucket_of_.push_back(buckets.size() - 1);
  }
}

void Outbox::put(std::size_t i, const Tensor& partials) {
  LOCKSTEP_ASSERT(!put_[i].defined(), expected_[i].name);
  put_[i] = partials;
  auto& buckets = buckets_->all;
  --buckets[bucket_of_[i]].missing;
  while (ends_.size() < buckets.size() && buckets[ends_.size()].missing == 0) send();
}

void Outbox::send() {
  Buckets::Bucket& bucket = buckets_->all[ends_.size()];
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    if (!put_[i].defined()) continue;
    bucket.numbers.push_back(i);
    bucket.content.push_back(
        {expected_[i].name, put_[i].contiguous(), divisions_[i], expected_[i].kept.has_value()});
  }
  start();
}

void Outbox::start() {
  ends_.push_back(group_.start(
      [buckets = buckets_, i = ends_.size()](comm::Group& group) { buckets->advance(group, i); }));
}

std::vector<Tensor> Outbox::finish() {
  const auto& buckets = buckets_->all;
  while (ends_.size() < buckets.size()) send();
  for (int rest = 0; rest < 2 && !buckets.empty(); ++rest) start();
  for (std::future<void>& end : ends_) end.get();
  std::vector<Tensor> whole(expected_.size());
  for (const Buckets::Bucket& bucket : buckets)
    for (std::size_t i = 0; i < bucket.numbers.size(); ++i)
      whole[bucket.numbers[i]] = bucket.whole[i];
  return whole;
}

}  // namespace lockstep::lane
