#include "support/gpu/stream.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace lockstep::test::gpu {

namespace {

std::mutex counting;
std::array<Calls, 3> counted;  // by Of

constexpr std::chrono::microseconds kLook(200);  // at what others than streams decide

}  // namespace

Calls calls_so_far(Of which) {
  const std::scoped_lock lock(counting);
  return counted[static_cast<std::size_t>(which)];
}

struct Streams::Work {
  std::function<void()> run;
  std::function<bool()> ready;  // null: it is
  std::vector<Shared> after;    // of other streams
  Stream stream;
  std::uint64_t number;  // rises with each call
  bool done = false;
};

struct Streams::Queue {
  Kind kind = Kind::kBlocking;
  Of of = Of::kNullStreams;
  bool destroyed = false, eager = false;
  std::uint64_t wanted = 0;  // the last number that somebody waits for
  std::shared_ptr<std::vector<std::function<void()>>> graph;  // while it is captured
  std::deque<Shared> waiting;
};

Streams::Streams(std::uint64_t seed, std::function<std::shared_ptr<void>()> during)
    : during_(std::move(during)), random_(seed) {
  queues_[kNull];
}
Streams::~Streams() = default;

Streams::Stream Streams::create(Kind kind, Of of) {
  const std::scoped_lock lock(mutex_);
  Queue& queue = queues_[++handles_];
  queue.kind = kind;
  queue.of = of;
  return handles_;
}

void Streams::count(Stream stream, std::int64_t Calls::*call) {
  const auto at = queues_.find(stream);
  if (at != queues_.end() && at->second.graph) return;  // it is captured
  const Of of = at == queues_.end() ? Of::kOthers : at->second.of;
  const std::scoped_lock lock(counting);
  ++(counted[static_cast<std::size_t>(of)].*call);
}

void Streams::destroy(Stream stream) {
  const std::scoped_lock lock(mutex_);
  Queue& queue = queues_.at(stream);
  queue.destroyed = true;
  if (queue.waiting.empty()) queues_.erase(stream);
}

bool Streams::knows(Stream stream) {
  const std::scoped_lock lock(mutex_);
  const auto at = queues_.find(stream);
  return at != queues_.end() && !at->second.destroyed;
}

void Streams::launch(Stream stream, std::function<void()> kernel) {
  const std::scoped_lock lock(mutex_);
  count(stream, &Calls::launches);
  add(stream, nullptr, std::move(kernel));
}

void Streams::copy(Stream stream, std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  count(stream, &Calls::copies);
  add(stream, nullptr, std::move(work));
}

void Streams::count_block(Stream stream) {
  const std::scoped_lock lock(mutex_);
  count(stream, &Calls::blocks);
}

void Streams::begin_capture(Stream stream) {
  const std::scoped_lock lock(mutex_);
  queues_.at(stream).graph = std::make_shared<std::vector<std::function<void()>>>();
}

bool Streams::captures(Stream stream) {
  const std::scoped_lock lock(mutex_);
  return queues_.at(stream).graph != nullptr;
}

bool Streams::forbids(Stream stream) {
  const std::scoped_lock lock(mutex_);
  return stream == kNull && std::ranges::any_of(queues_, [](const auto& one) {
           return one.second.kind == Kind::kBlocking && one.second.graph;
         });
}

Streams::Graph Streams::end_capture(Stream stream) {
  const std::scoped_lock lock(mutex_);
  return std::exchange(queues_.at(stream).graph, nullptr);
}

void Streams::launch(Stream stream, Graph graph) {
  launch(stream, [graph = std::move(graph)] {
    for (const auto& work : *graph) work();
  });
}

void Streams::put(Stream stream, std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  add(stream, nullptr, std::move(work));
}

void Streams::put_when(Stream stream, std::function<bool()> ready, std::function<void()> work) {
  const std::scoped_lock lock(mutex_);
  add(stream, nullptr, std::move(work), std::move(ready));
}

void Streams::wait(Stream stream) {
  Shared last;
  {
    const std::scoped_lock lock(mutex_);
    count(stream, &Calls::waits);
    const Queue& queue = queues_.at(stream);
    if (!queue.waiting.empty()) last = queue.waiting.back();
  }
  wait_for(last);
}

void Streams::wait() {
  for (bool first = true;; first = false) {
    {
      const std::scoped_lock lock(mutex_);
      if (first) count(kNull, &Calls::waits);
      finish_all();
      if (waiting_ == 0) return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

void Streams::wait_for(const Shared& last) {
  while (last) {
    {
      const std::scoped_lock lock(mutex_);
      if (!last->done) finish(last);
      if (last->done) return;
    }
    std::this_thread::sleep_for(kLook);
  }
}

bool Streams::done(Stream stream) {
  const std::scoped_lock lock(mutex_);
  const Queue& queue = queues_.at(stream);
  if (!queue.waiting.empty() && coin()) finish(queue.waiting.back());
  return queue.waiting.empty();
}

Streams::Event Streams::create_event() {
  const std::scoped_lock lock(mutex_);
  events_[++handles_];
  return handles_;
}

void Streams::destroy_event(Event event) {
  const std::scoped_lock lock(mutex_);
  events_.erase(event);
}

bool Streams::knows_event(Event event) {
  const std::scoped_lock lock(mutex_);
  return events_.contains(event);
}

void Streams::record(Event event, Stream stream) {
  const std::scoped_lock lock(mutex_);
  add(stream, nullptr, [] {});
  const Queue& queue = queues_.at(stream);
  events_.at(event) = queue.waiting.empty() ? nullptr : queue.waiting.back();
}

void Streams::order(Stream stream, Event event) {
  const std::scoped_lock lock(mutex_);
  add(stream, events_.at(event), [] {});
}

void Streams::wait_event(Event event) {
  Shared work;
  {
    const std::scoped_lock lock(mutex_);
    work = events_.at(event);
    if (work && !work->done) count(work->stream, &Calls::waits);
  }
  wait_for(work);
}

bool Streams::event_done(Event event) {
  const std::scoped_lock lock(mutex_);
  const Shared work = events_.at(event);
  if (work && !work->done && coin()) finish(work);
  return !work || work->done;
}

void Streams::add(Stream stream, const Shared& also_after, std::function<void()> run,
                  std::function<bool()> ready) {
  Queue& own = queues_.at(stream);
  if (own.graph) return own.graph->push_back(std::move(run));
  auto work = std::make_shared<Work>();
  work->run = std::move(run);
  work->ready = std::move(ready);
  work->stream = stream;
  work->number = ++calls_;
  const auto follow = [&](const Shared& other) {
    if (other && !other->done) work->after.push_back(other);
  };
  follow(also_after);
  if (own.kind == Kind::kBlocking)
    for (const auto& [other, queue] : queues_)
      if (other != stream && (stream == kNull || other == kNull) && queue.kind == Kind::kBlocking &&
          !queue.waiting.empty())
        follow(queue.waiting.back());
  own.waiting.push_back(std::move(work));
  if (++waiting_ >= kMost) finish_all();
}

// What it needs, and any of what else some streams have to do.
void Streams::finish(const Shared& last) {
  for (auto& [stream, queue] : queues_) {
    queue.eager = coin();
    queue.wanted = 0;
  }
  std::vector<Shared> found{last};
  while (!found.empty()) {
    const Shared work = std::move(found.back());
    found.pop_back();
    if (work->done) continue;
    Queue& queue = queues_.at(work->stream);
    for (auto at = std::ranges::upper_bound(queue.waiting, queue.wanted, {}, &Work::number);
         at != queue.waiting.end() && (*at)->number <= work->number; ++at)
      found.insert(found.end(), (*at)->after.begin(), (*at)->after.end());
    queue.wanted = std::max(queue.wanted, work->number);
  }
  run([&] { return last->done; },
      [](const Queue& queue) {
        return queue.eager || queue.waiting.front()->number <= queue.wanted;
      });
}

void Streams::finish_all() {
  run([&] { return waiting_ == 0; }, [](const Queue&) { return true; });
}

void Streams::run(const std::function<bool()>& enough,
                  const std::function<bool(const Queue&)>& may_go) {
  if (enough()) return;
  const auto held = during_ ? during_() : nullptr;
  while (!enough()) {
    std::vector<std::map<Stream, Queue>::iterator> ready;
    for (auto at = queues_.begin(); at != queues_.end(); ++at) {
      const Queue& queue = at->second;
      if (!queue.waiting.empty() && may_go(queue) &&
          std::ranges::all_of(queue.waiting.front()->after, &Work::done) &&
          (!queue.waiting.front()->ready || queue.waiting.front()->ready()))
        ready.push_back(at);
    }
    if (ready.empty()) return;
    const auto chosen = ready.at(random_() % ready.size());
    Queue& queue = chosen->second;
    Work& work = *queue.waiting.front();
    work.run();
    work.run = nullptr;
    work.ready = nullptr;
    work.after.clear();
    work.done = true;
    queue.waiting.pop_front();
    --waiting_;
    if (queue.destroyed && queue.waiting.empty()) queues_.erase(chosen);
  }
}

}  // namespace lockstep::test::gpu
