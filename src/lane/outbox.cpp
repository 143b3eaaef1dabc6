#include "lockstep/core/error.h"
#include "lockstep/lane/exchange.h"

namespace lockstep::lane {
namespace {

// A bucket is closed when it holds this much: the first leaves early, the others are so large that
// waiting for messages does not matter.
constexpr std::int64_t kFirstBucketFloats = 1 << 18;  // 1 MiB
constexpr std::int64_t kBucketFloats = 1 << 20;

}  // namespace

// Shared with the job that exchanges it.
struct Outbox::Bucket {
  std::size_t first = 0, last = 0;    // numbers in the list
  std::size_t missing = 0;            // not put yet
  std::vector<std::size_t> numbers;   // of what is sent
  std::vector<Contribution> content;  // the same
  std::vector<Tensor> whole;          // the job's result
};

Outbox::Outbox(const Plan& plan, comm::Group& group, std::vector<Expected> expected)
    : plan_(plan), group_(group), expected_(std::move(expected)), put_(expected_.size()) {
  std::int64_t floats = kBucketFloats;  // of the last bucket
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (floats >= (buckets_.size() == 1 ? kFirstBucketFloats : kBucketFloats)) {
      buckets_.push_back(std::make_shared<Bucket>());
      buckets_.back()->first = i;
      floats = 0;
    }
    Bucket& bucket = *buckets_.back();
    bucket.last = i + 1;
    ++bucket.missing;
    floats += expected_[i].floats;
    bucket_of_.push_back(buckets_.size() - 1);
  }
}

void Outbox::put(std::size_t i, const Tensor& partials) {
  LOCKSTEP_ASSERT(!put_[i].defined(), expected_[i].name);
  put_[i] = partials;
  --buckets_[bucket_of_[i]]->missing;
  while (sent_ < buckets_.size() && buckets_[sent_]->missing == 0) send(*buckets_[sent_]);
}

void Outbox::send(Bucket& bucket) {
  for (std::size_t i = bucket.first; i < bucket.last; ++i) {
    if (!put_[i].defined()) continue;
    bucket.numbers.push_back(i);
    const Expected& expected = expected_[i];
    bucket.content.push_back({expected.name, put_[i].contiguous(), expected.turn, expected.sliced});
  }
  ends_.push_back(group_.start([plan = plan_, shared = buckets_[sent_]](comm::Group& group) {
    shared->whole = exchange(plan, group, shared->content);
  }));
  ++sent_;
}

std::vector<Tensor> Outbox::finish() {
  while (sent_ < buckets_.size()) send(*buckets_[sent_]);
  std::vector<Tensor> whole(expected_.size());
  for (std::future<void>& end : ends_) end.get();
  for (const auto& bucket : buckets_) {
    for (std::size_t i = 0; i < bucket->numbers.size(); ++i)
      whole[bucket->numbers[i]] = bucket->whole[i];
  }
  return whole;
}

}  // namespace lockstep::lane
