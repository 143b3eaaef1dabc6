// Private: kernels that compute values one by one, each of a few numbers in memory. A thread reads
// what several values are made of before it computes the first: the way to memory is long, and a
// GPU is fast where much is on its way.
#pragma once

#include <cstdint>

#include "numerics/cuda/thread.h"

namespace lockstep::numerics::cuda {

// What a value is made of.
template <int kCount>
struct Floats {
  float of[kCount];
};

// A value that is read as it is.
struct Itself {
  template <class T>
  LOCKSTEP_DEVICE T operator()(const T& value) const {
    return value;
  }
};

// Values in memory.
struct InRows {
  const float* rows;
  LOCKSTEP_DEVICE float operator()(std::int64_t i) const { return rows[i]; }
  // Of i, i + step, …: all on their way.
  template <int kCount>
  LOCKSTEP_DEVICE void some(std::int64_t i, std::int64_t step, float (&values)[kCount]) const {
    LOCKSTEP_UNROLL
    for (int n = 0; n < kCount; ++n) values[n] = rows[i + n * step];
  }
};

// sum + value(first + k * step) + …, k up to count, as long as there are kSome of them.
template <int kSome, class Value>
LOCKSTEP_DEVICE inline void add_some(const Value& value, std::int64_t first, std::int64_t step,
                                     std::int64_t count, std::int64_t& k, float& sum) {
  for (; k + kSome <= count; k += kSome) {
    float of[kSome];
    value.template some<kSome>(first + k * step, step, of);
    LOCKSTEP_UNROLL
    for (int n = 0; n < kSome; ++n) sum = sum + of[n];
  }
}

// sum + value(first) + value(first + step) + …, `count` of them, one after the other. Few threads
// may have many, so a thread has sixteen on their way.
template <class Value>
LOCKSTEP_DEVICE inline float add_onto(float sum, const Value& value, std::int64_t first,
                                      std::int64_t step, std::int64_t count) {
  std::int64_t k = 0;
  add_some<16>(value, first, step, count, k, sum);
  add_some<4>(value, first, step, count, k, sum);
  add_some<1>(value, first, step, count, k, sum);
  return sum;
}
// value(first), the first as it is, + value(first + step) + …, `count` in all.
template <class Value>
LOCKSTEP_DEVICE inline float add_in_order(const Value& value, std::int64_t first, std::int64_t step,
                                          std::int64_t count) {
  return add_onto(value(first), value, first + step, step, count - 1);
}

inline constexpr int kTogether = 4;  // values of a thread

// write(i, read(i)) for those of i, i + apart, ... below n, kTogether at most; i is below n. What
// is read may be what is written, element by element.
template <class Index, class Read, class Write>
LOCKSTEP_DEVICE inline void together(Index i, int apart, Index n, const Read& read,
                                     const Write& write) {
  // The first one again, where there is no other: a read without a branch.
  const auto place = [&](int e) { return i + e * apart < n ? i + e * apart : i; };
  decltype(read(i)) made_of[kTogether];
  LOCKSTEP_UNROLL
  for (int e = 0; e < kTogether; ++e) made_of[e] = read(place(e));
  LOCKSTEP_UNROLL
  for (int e = 0; e < kTogether; ++e)
    if (i + e * apart < n) write(i + e * apart, made_of[e]);
}

// write(i, read(i)) for n elements, several of a thread together.
template <class Read, class Write>
struct EachTogether {
  std::int64_t n;
  Read read;
  Write write;

  static Grid grid(std::int64_t n) { return grid_of((n + kTogether - 1) / kTogether); }

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t block = std::int64_t{kTogether} * t.threads(), step = t.blocks() * block;
    for (std::int64_t i = t.block() * block + t.thread(); i < n; i += step)
      together(i, t.threads(), n, read, write);
  }
};

// out[i] = value(made_of)
template <class Value>
struct Into {
  float* out;
  Value value;
  template <class MadeOf>
  LOCKSTEP_DEVICE void operator()(std::int64_t i, const MadeOf& made_of) const {
    out[i] = value(made_of);
  }
};

template <class Gpu, class Read, class Write>
void each_together(Gpu& gpu, std::int64_t n, const Read& read, const Write& write) {
  using Kernel = EachTogether<Read, Write>;
  gpu.launch(Kernel::grid(n), Kernel{n, read, write});
}
// out[i] = value(read(i)), of n.
template <class Gpu, class Read, class Value>
void elements(Gpu& gpu, std::int64_t n, float* out, const Read& read, const Value& value) {
  each_together(gpu, n, read, Into<Value>{out, value});
}

}  // namespace lockstep::numerics::cuda
