// The stand-in for CUDA's runtime has CUDA's order of work and no more: what no event orders is
// seen to be unordered.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <set>

namespace {

constexpr std::size_t kBytes = sizeof(int);
// So often that one of two orders is missed in one of 2^40 runs.
constexpr int kOften = 40;

struct Stream {
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&handle, flags), cudaSuccess);
  }
  ~Stream() {
    cudaStreamSynchronize(handle);
    cudaStreamDestroy(handle);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle; }

  cudaStream_t handle = nullptr;
};

struct Event {
  Event() { EXPECT_EQ(cudaEventCreateWithFlags(&handle, cudaEventDisableTiming), cudaSuccess); }
  ~Event() { cudaEventDestroy(handle); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle; }

  cudaEvent_t handle = nullptr;
};

// An int of the host that a GPU reaches.
struct Pinned {
  explicit Pinned(int first = 0) {
    EXPECT_EQ(cudaMallocHost(reinterpret_cast<void**>(&value), kBytes), cudaSuccess);
    *value = first;
  }
  ~Pinned() { cudaFreeHost(value); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  int* value = nullptr;
};

// An int of the GPU, there when it is made.
struct There {
  There() {
    EXPECT_EQ(cudaMallocAsync(&memory, kBytes, nullptr), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  }
  ~There() {
    cudaDeviceSynchronize();
    cudaFreeAsync(memory, nullptr);
  }
  There(const There&) = delete;
  There& operator=(const There&) = delete;

  void* memory = nullptr;
};

void up(const There& to, const int* from, cudaStream_t stream) {
  EXPECT_EQ(cudaMemcpyAsync(to.memory, from, kBytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
}
void down(int* to, const There& from, cudaStream_t stream) {
  EXPECT_EQ(cudaMemcpyAsync(to, from.memory, kBytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
}

// What one stream reads of what another wrote over 1: `between(writer, reader)` may order them.
template <class Between>
std::set<int> seen(unsigned writer_flags, unsigned reader_flags, const Between& between) {
  std::set<int> all;
  const There there;
  const Pinned one(1), two(2), read;
  for (int i = 0; i < kOften; ++i) {
    up(there, one.value, nullptr);
    cudaDeviceSynchronize();
    const Stream writer(writer_flags), reader(reader_flags);
    up(there, two.value, writer);
    between(writer, reader);
    down(read.value, there, reader);
    EXPECT_EQ(cudaStreamSynchronize(reader), cudaSuccess);
    all.insert(*read.value);
  }
  return all;
}

TEST(PtxRuntime, OnlyEventsOrderStreams) {
  const Event event;
  const auto nothing = [](cudaStream_t, cudaStream_t) {};
  const auto ordered = [&](cudaStream_t writer, cudaStream_t reader) {
    EXPECT_EQ(cudaEventRecord(event, writer), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(reader, event, 0), cudaSuccess);
  };
  const auto waited = [&](cudaStream_t writer, cudaStream_t) {
    EXPECT_EQ(cudaEventRecord(event, writer), cudaSuccess);
    EXPECT_EQ(cudaEventSynchronize(event), cudaSuccess);
  };
  // An event is what was recorded when the stream is told of it.
  const auto too_late = [&](cudaStream_t writer, cudaStream_t reader) {
    EXPECT_EQ(cudaStreamWaitEvent(reader, event, 0), cudaSuccess);
    EXPECT_EQ(cudaEventRecord(event, writer), cudaSuccess);
  };
  constexpr unsigned kAlone = cudaStreamNonBlocking;
  const std::set<int> both = {1, 2}, last = {2};
  EXPECT_EQ(seen(kAlone, kAlone, nothing), both);
  EXPECT_EQ(seen(kAlone, kAlone, too_late), both);
  EXPECT_EQ(seen(kAlone, kAlone, ordered), last);
  EXPECT_EQ(seen(kAlone, kAlone, waited), last);
}

TEST(PtxRuntime, TheNullStreamOrdersBlockingStreams) {
  const There other;
  const Pinned value;
  const auto null_between = [&](cudaStream_t, cudaStream_t) { up(other, value.value, nullptr); };
  const std::set<int> both = {1, 2}, last = {2};
  EXPECT_EQ(seen(cudaStreamDefault, cudaStreamDefault, null_between), last);
  EXPECT_EQ(seen(cudaStreamNonBlocking, cudaStreamDefault, null_between), both);
  EXPECT_EQ(seen(cudaStreamDefault, cudaStreamNonBlocking, null_between), both);
  EXPECT_EQ(seen(cudaStreamDefault, cudaStreamDefault, [](cudaStream_t, cudaStream_t) {}), both);
}

TEST(PtxRuntime, PinnedMemoryIsReadLate) {
  const There there;
  const Stream stream;
  const Pinned from(1), to(3);
  up(there, from.value, stream);
  *from.value = 2;  // too early: the copy may be still to come
  down(to.value, there, stream);
  EXPECT_EQ(*to.value, 3) << "to pinned memory nobody waits";
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(*to.value, 2);
}

TEST(PtxRuntime, PageableMemoryIsTheCallersAgain) {
  const There there;
  const Stream stream;
  int from = 1, to = 3;
  up(there, &from, stream);
  from = 2;
  down(&to, there, stream);
  EXPECT_EQ(to, 1);
  // Registered, it is pinned.
  ASSERT_EQ(cudaHostRegister(&from, kBytes, cudaHostRegisterMapped), cudaSuccess);
  up(there, &from, stream);
  from = 4;
  down(&to, there, stream);
  EXPECT_EQ(to, 4);
  EXPECT_EQ(cudaHostUnregister(&from), cudaSuccess);
}

TEST(PtxRuntime, QueriesEnd) {
  const There there;
  const Pinned one(1);
  const Stream stream;
  const Event event;
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess) << "nothing was recorded";
  EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
  int not_ready = 0;
  for (int i = 0; i < kOften; ++i) {
    up(there, one.value, stream);
    EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
    while (cudaStreamQuery(stream) == cudaErrorNotReady) ++not_ready;
    EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  }
  EXPECT_GT(not_ready, 0);
}

TEST(PtxRuntime, HandlesAreKnown) {
  const auto nobodys = reinterpret_cast<cudaStream_t>(1000000);
  cudaStream_t stream = nullptr;
  EXPECT_EQ(cudaStreamCreateWithFlags(&stream, 7), cudaErrorInvalidValue);
  EXPECT_EQ(cudaStreamSynchronize(nobodys), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaStreamSynchronize(cudaStreamLegacy), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamDefault), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaFreeAsync(&stream, nullptr), cudaErrorInvalidValue);
}

TEST(PtxRuntime, AnErrorStaysUntilItIsAskedFor) {
  const Stream stream;
  EXPECT_EQ(cudaSetDevice(-1), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(PtxRuntime, AWaitSpoilsACapture) {
  const Stream stream;
  cudaGraph_t graph = nullptr;
  for (const bool waits : {true, false}) {
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
    if (waits) {
      EXPECT_NE(cudaStreamSynchronize(stream), cudaSuccess);
    }
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph),
              waits ? cudaErrorStreamCaptureInvalidated : cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), waits ? cudaErrorInvalidValue : cudaSuccess);
  }
  static_cast<void>(cudaGetLastError());
}

// Memory of one stream, used by another: in any order, or after an event.
void use_elsewhere(bool ordered) {
  const Pinned one(1);
  const Event event;
  for (int i = 0; i < kOften; ++i) {
    const Stream owner, user;
    void* memory = nullptr;
    cudaMallocAsync(&memory, kBytes, owner);
    cudaEventRecord(event, owner);
    if (ordered) cudaStreamWaitEvent(user, event, 0);
    cudaMemcpyAsync(memory, one.value, kBytes, cudaMemcpyHostToDevice, user);
    cudaEventRecord(event, user);
    cudaStreamWaitEvent(owner, event, 0);
    cudaFreeAsync(memory, owner);
    cudaDeviceSynchronize();
  }
}
void free_elsewhere(bool ordered) {
  const Pinned one(1);
  const Event event;
  for (int i = 0; i < kOften; ++i) {
    const Stream owner, user;
    void* memory = nullptr;
    cudaMallocAsync(&memory, kBytes, owner);
    cudaStreamSynchronize(owner);
    cudaMemcpyAsync(memory, one.value, kBytes, cudaMemcpyHostToDevice, user);
    cudaEventRecord(event, user);
    if (ordered) cudaStreamWaitEvent(owner, event, 0);
    cudaFreeAsync(memory, owner);
    cudaDeviceSynchronize();
  }
}

TEST(PtxRuntimeDeathTest, MemoryBelongsToItsStream) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked process has no memory of the GPU
  use_elsewhere(true);
  free_elsewhere(true);
  EXPECT_DEATH(use_elsewhere(false), "no event orders them");
  EXPECT_DEATH(free_elsewhere(false), "no event orders them");
}

TEST(PtxRuntime, MemoryComesToAnotherStreamInOrder) {
  const Pinned one(1), two(2), read;
  for (int i = 0; i < kOften; ++i) {
    const Stream first, second;
    void *before = nullptr, *after = nullptr;
    EXPECT_EQ(cudaMallocAsync(&before, kBytes, first), cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(before, one.value, kBytes, cudaMemcpyHostToDevice, first),
              cudaSuccess);
    EXPECT_EQ(cudaFreeAsync(before, first), cudaSuccess);
    EXPECT_EQ(cudaMallocAsync(&after, kBytes, second), cudaSuccess);
    EXPECT_EQ(before, after) << "the first free place";
    EXPECT_EQ(cudaMemcpyAsync(after, two.value, kBytes, cudaMemcpyHostToDevice, second),
              cudaSuccess);
    EXPECT_EQ(cudaMemcpyAsync(read.value, after, kBytes, cudaMemcpyDeviceToHost, second),
              cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(*read.value, 2);
    EXPECT_EQ(cudaFreeAsync(after, second), cudaSuccess);
  }
}

}  // namespace
