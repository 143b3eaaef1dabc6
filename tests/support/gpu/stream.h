// The work of emulated GPUs: streams and events with CUDA's rules, by any thread. Work is done as
// late as CUDA allows, when somebody waits; of several streams, in a random order that no event
// forbids. So an event that is missing shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace lockstep::test::gpu {

// What a process has asked of its emulated GPUs: kernels and graphs that it launched, copies to and
// within them, how often the host waited for them, and blocks that it took of their pools. Not what
// was captured.
struct Calls {
  std::int64_t launches = 0, copies = 0, waits = 0, blocks = 0;
};
enum class Of { kNullStreams, kOwnOrders, kOthers };  // whose streams
Calls calls_so_far(Of which = Of::kNullStreams);

class Streams {
 public:
  using Stream = std::uint64_t;
  using Event = std::uint64_t;
  // The null stream, which waits for blocking streams, as they do for it (CUDA C++ Programming
  // Guide, "Legacy Default Stream").
  static constexpr Stream kNull = 0;
  enum class Kind { kBlocking, kNonBlocking };

  // What `during` returns lives while work is done.
  explicit Streams(std::uint64_t seed = 1, std::function<std::shared_ptr<void>()> during = {});
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  Stream create(Kind kind, Of of = Of::kOthers);
  // What it has to do is still done.
  void destroy(Stream stream);
  bool knows(Stream stream);

  // Work on far memory. It may not call this object.
  void launch(Stream stream, std::function<void()> kernel);
  void copy(Stream stream, std::function<void()> work);
  // Neither: memory is filled, for tests to see who reads what nobody wrote.
  void put(Stream stream, std::function<void()> work);
  // The same, not before `ready` says so, which others than streams decide (support/nccl).
  void put_when(Stream stream, std::function<bool()> ready, std::function<void()> work);

  // A block of a pool is the stream's from now on.
  void count_block(Stream stream);

  // What comes now into the stream is captured and not done; then it can be launched, as often as
  // one likes. No wait, query or event is of such a stream.
  using Graph = std::shared_ptr<const std::vector<std::function<void()>>>;
  void begin_capture(Stream stream);
  bool captures(Stream stream);
  // Whether CUDA forbids calls of this stream: of the null stream while a blocking one is captured.
  bool forbids(Stream stream);
  Graph end_capture(Stream stream);
  void launch(Stream stream, Graph graph);

  // All of the stream, or of all streams, is done.
  void wait(Stream stream);
  void wait();
  // Whether all of it is done; it goes on by itself, sooner or later.
  bool done(Stream stream);

  Event create_event();
  void destroy_event(Event event);
  bool knows_event(Event event);
  // The event is what the stream has to do now; before, it is nothing.
  void record(Event event, Stream stream);
  // What comes next in the stream comes after what the event is now.
  void order(Stream stream, Event event);
  void wait_event(Event event);
  bool event_done(Event event);

 private:
  struct Work;
  struct Queue;
  using Shared = std::shared_ptr<Work>;
  static constexpr std::size_t kMost = 4096;  // that wait: closures take memory

  void add(Stream stream, const Shared& also_after, std::function<void()> run,
           std::function<bool()> ready = {});
  // They go on until what is next in every stream waits for others than streams.
  void finish(const Shared& last);
  void finish_all();
  void count(Stream stream, std::int64_t Calls::*call);  // under the lock
  // Until there is nothing to wait for.
  void wait_for(const Shared& last);
  void run(const std::function<bool()>& enough, const std::function<bool(const Queue&)>& may_go);
  bool coin() { return random_() % 2 == 0; }

  const std::function<std::shared_ptr<void>()> during_;
  std::mutex mutex_;
  std::mt19937_64 random_;
  std::map<Stream, Queue> queues_;
  std::map<Event, Shared> events_;
  std::uint64_t handles_ = 16, calls_ = 0;  // CUDA has names for small handles
  std::size_t waiting_ = 0;
};

}  // namespace lockstep::test::gpu
