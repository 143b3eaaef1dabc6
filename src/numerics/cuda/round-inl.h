// Private: groups of values rounded to integers for CUDA (integer.h, round_groups). A group is gone
// through twice: first for its largest value, whose exponent all its values share, then to be
// rounded. A small one is a block's, which finds it in its cache again; of a large one several
// blocks have a part each, in two launches.
#pragma once

#include "lockstep/numerics/spec/integer.h"
#include "numerics/cuda/device.h"
#include "numerics/cuda/divisor.h"
#include "numerics/cuda/elements.h"
#include "numerics/cuda/integer_slices-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

// Channels [first, first + width) of rows of c: data[groups][rows][width]. No data, no channels.
struct Side {
  const float* data = nullptr;
  std::int64_t width = 0, first = 0;
  Divisor by_width{1, 0};
};

struct RoundShape {
  std::int64_t groups, rows, c;
  std::int64_t parts;  // blocks a group
  bool wide;           // four neighbours lie together, aligned to 16 bytes
  bool apart;          // of what comes out, slices lie apart
  Side sides[2];
};

// body(side, i, values) for values i, i + 1 ... of a group's side that this block's part has: a
// Vector of 4 if wide, else of 1. A thread has several on their way.
template <class Thread, class Body>
LOCKSTEP_DEVICE inline void for_each_of_part(const Thread& t, const RoundShape& s,
                                             const Body& body) {
  const std::int64_t group = t.block() / s.parts, part = t.block() % s.parts;
  const std::int64_t first = part * t.threads() + t.thread();
  const int step = static_cast<int>(s.parts) * t.threads();
  LOCKSTEP_UNROLL
  for (int which = 0; which < 2; ++which) {
    const Side& side = s.sides[which];
    const std::int64_t n = s.rows * side.width;
    const float* const x = side.data + group * n;
    const auto each_of = [&]<int kCount>(const Vector<float, kCount>* vectors) {
      const std::int64_t count = n / kCount;
      const auto read = [&](std::int64_t i) { return vectors[i]; };
      const auto give = [&](std::int64_t i, const Vector<float, kCount>& values) {
        body(side, i * kCount, values);
      };
      for (std::int64_t i = first; i < count; i += std::int64_t{kTogether} * step)
        together(i, step, count, read, give);
    };
    if (s.wide) {
      each_of(reinterpret_cast<const Vector<float, 4>*>(x));
    } else {
      each_of(reinterpret_cast<const Vector<float, 1>*>(x));
    }
  }
}

// What is largest among a block's threads, in all of them. `shared`: max_bytes(threads).
constexpr std::int64_t max_bytes(int threads) {
  return (threads / kWarp + 1) * 4;
}

template <class Thread>
LOCKSTEP_DEVICE inline std::uint32_t block_max(Thread& t, std::uint32_t most) {
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    const std::uint32_t other = t.shuffle_down(most, lanes);
    most = other > most ? other : most;
  }
  auto* const warps = t.template shared<std::uint32_t>();
  auto* const all = warps + t.threads() / kWarp;
  if (t.thread() % kWarp == 0) warps[t.thread() / kWarp] = most;
  t.barrier();
  if (t.thread() == 0) {
    for (int warp = 1; warp < t.threads() / kWarp; ++warp)
      most = warps[warp] > most ? warps[warp] : most;
    *all = most;
  }
  t.barrier();
  return *all;
}

// The largest magnitude of this block's part, in all its threads.
template <class Thread>
LOCKSTEP_DEVICE inline std::uint32_t largest_of_part(Thread& t, const RoundShape& s) {
  std::uint32_t most = 0;
  for_each_of_part(t, s, [&](const Side&, std::int64_t, const auto& values) {
    for (const float value : values.of) {
      const std::uint32_t one = spec::magnitude(value);
      most = one > most ? one : most;
    }
  });
  return block_max(t, most);
}

// Where rounded groups go.
struct RoundedGroups {
  std::int32_t* exponents;
  std::int16_t* q;

  // This block's part of a group whose largest magnitude is `most`.
  template <class Thread>
  LOCKSTEP_DEVICE void round_part(const Thread& t, const RoundShape& s, std::uint32_t most) const {
    const std::int64_t group = t.block() / s.parts;
    const std::int32_t exponent = spec::exponent_of(most);
    if (t.block() % s.parts == 0 && t.thread() == 0) exponents[group] = exponent;
    const bool finite = exponent != spec::kNotFinite;
    const float factor = finite ? spec::rounding_factor(exponent) : 0.0F;
    std::int16_t* const of_group = q + group * s.rows * s.c;
    for_each_of_part(t, s, [&](const Side& side, std::int64_t i, const auto& values) {
      constexpr int kCount = sizeof values / sizeof(float);
      Vector<std::uint16_t, kCount> pairs;
      Vector<std::uint8_t, kCount> low, high;
      LOCKSTEP_UNROLL
      for (int e = 0; e < kCount; ++e) {
        const std::uint16_t pair =
            finite ? pair_of(spec::rounded(values.of[e], factor)) : std::uint16_t{0};
        pairs.of[e] = pair;
        low.of[e] = static_cast<std::uint8_t>(pair);
        high.of[e] = static_cast<std::uint8_t>(pair >> 8);
      }
      std::int64_t at = i;
      if (side.width != s.c) {
        const std::int64_t row = side.by_width.quotient(i);
        at = i + row * (s.c - side.width) + side.first;
      }
      if (s.apart) {
        auto* const lower = low_of(reinterpret_cast<std::uint8_t*>(of_group + at));
        *reinterpret_cast<Vector<std::uint8_t, kCount>*>(lower) = low;
        *reinterpret_cast<Vector<std::uint8_t, kCount>*>(lower + kApart) = high;
      } else {
        *reinterpret_cast<Vector<std::uint16_t, kCount>*>(of_group + at) = pairs;
      }
    });
  }
};

// Of groups of one part.
struct RoundKernel {
  static constexpr int kBlockThreads = 1024, kResidentBlocks = 1;

  RoundShape s;
  RoundedGroups out;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    out.round_part(t, s, largest_of_part(t, s));
  }
};

// largest[groups][parts]
struct LargestOfPartKernel {
  RoundShape s;
  std::uint32_t* largest;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::uint32_t most = largest_of_part(t, s);
    if (t.thread() == 0) largest[t.block()] = most;
  }
};

// By the largest value of a group, which every block of it finds once more among its parts'.
struct RoundPartKernel {
  static constexpr int kBlockThreads = kThreads, kResidentBlocks = 4;

  RoundShape s;
  const std::uint32_t* largest;
  RoundedGroups out;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const std::int64_t group = t.block() / s.parts;
    std::uint32_t most = 0;
    for (std::int64_t i = t.thread(); i < s.parts; i += t.threads()) {
      const std::uint32_t one = largest[group * s.parts + i];
      most = one > most ? one : most;
    }
    out.round_part(t, s, block_max(t, most));
  }
};

template <class Gpu>
void Device<Gpu>::round_groups(std::int64_t groups, std::int64_t rows, std::int64_t c,
                               Sides<const float> x, std::int16_t* q, std::int32_t* exponents) {
  RoundShape s{groups, rows, c, 0, true, slices_lie_apart(q, c), {{x.left, c, 0}, {}}};
  if (x.right != nullptr) {
    s.sides[0].width = x.cut;
    s.sides[1] = {x.right, c - x.cut, x.cut};
  }
  for (Side& side : s.sides) {
    side.by_width = Divisor(side.width, rows * side.width);
    s.wide = s.wide && reinterpret_cast<std::uintptr_t>(side.data) % 16 == 0 && side.width % 4 == 0;
  }
  s.wide = s.wide && reinterpret_cast<std::uintptr_t>(q) % 8 == 0;
  const RoundedGroups out{exponents, q};
  // Values of a group that one block rounds, and of a part; a thread has 16 of these, or 32.
  constexpr std::int64_t kSmall = 32 * 1024, kOfPart = kThreads * 16, kMostParts = 256;
  if (rows * c <= kSmall) {
    s.parts = 1;
    const int threads = rows * c <= kOfPart ? kThreads : RoundKernel::kBlockThreads;
    return gpu_->launch(Grid{groups, threads, max_bytes(threads)}, RoundKernel{s, out});
  }
  s.parts = (rows * c + kOfPart - 1) / kOfPart;
  s.parts = s.parts > kMostParts ? kMostParts : s.parts;
  const Scratch<Gpu, std::uint32_t> largest(*gpu_, groups * s.parts);
  const Grid grid{groups * s.parts, kThreads, max_bytes(kThreads)};
  gpu_->launch(grid, LargestOfPartKernel{s, largest.data()});
  gpu_->launch(grid, RoundPartKernel{s, largest.data(), out});
}

template <class Gpu>
void Device<Gpu>::plain_integers(std::int64_t rows, std::int64_t c, const std::int16_t* q,
                                 std::int16_t* plain) {
  const bool apart = slices_lie_apart(q, c);
  each(rows * c,
       [=] LOCKSTEP_DEVICE(std::int64_t i) { plain[i] = integer_of(pair_at(q + i, apart)); });
}

}  // namespace lockstep::numerics::cuda
