// Private: one tile of a float product for CUDA (gemm.h): k goes through shared memory, eight of it
// a step, stage after stage ahead of the sums; a thread has 8 x 8 sums in registers, or 8 x 16, or
// 2 x 4 where tiles are few. The shape is that of CUTLASS's SIMT products
// (github.com/NVIDIA/cutlass, include/cutlass/gemm/threadblock).
//
// A tile's blocks of the chain are summed one after another: the sum of those before waits where
// the result will be, so that only the sums of one block need registers.
#pragma once

#include "numerics/cuda/float_sources-inl.h"
#include "numerics/cuda/vector.h"

namespace lockstep::numerics::cuda {

using Quad = Vector<float, 4>;
LOCKSTEP_DEVICE inline Quad load_quad(const float* from) {
  return *reinterpret_cast<const Quad*>(from);
}
LOCKSTEP_DEVICE inline void store_quad(float* to, const Quad& quad) {
  *reinterpret_cast<Quad*>(to) = quad;
}

inline constexpr int kPad = 4;  // floats behind each line: transposing stores meet no conflict

// Of a block: matrix, part of its chains, first row and column. It waits in shared memory, because
// the sums leave few registers.
struct TilePlace {
  int z, part, i, j;
};

template <int kRowsIn, int kColumnsIn>
struct Tile {
  static constexpr int kRows = kRowsIn, kColumns = kColumnsIn;
  // A thread's sums, in fours of columns and fours, or twos, of rows. The more, the fewer operands
  // come from shared memory for each: for 8 x 8 sums loads of them take it as long as the sums take
  // a multiprocessor, for 8 x 16 three quarters of that, for 2 x 4 thrice as long. The fewer, the
  // sooner a tile is done that is alone: its 2 x 4 sums keep the four quarters of a multiprocessor
  // busy.
  static constexpr int kDown = kRows >= 64 ? 2 : 1, kHeight = kRows >= 64 ? 4 : 2;
  static constexpr int kAcross = kColumns >= 128 ? 4 : kDown;
  static constexpr int kRowsApart = kRows / kDown, kColumnsApart = kColumns / kAcross;
  static constexpr int kThreads = kRowsApart / kHeight * (kColumnsApart / 4);
  // Of a stage. Sums of 2 x 4 are done with a step before memory answers, so they get four.
  static constexpr int kSteps = kDown == 1 ? 4 : 1;
  static_assert(kBlock % (kSteps * kFloatStep) == 0, "a stage lies in one block of the chain");
  static constexpr int kStages = kSteps == 1 ? 3 : 2;  // in shared memory, one of them for the sums
  // Of a multiprocessor: those with 16 fours of sums may have 255 registers, others 168.
  static constexpr int kResidentThreads = kAcross == 4 ? 256 : 384;
  static constexpr int kLeft = kFloatStep * (kRows + kPad);  // floats
  static constexpr int kStep = kLeft + kFloatStep * (kColumns + kPad);
  static constexpr int kStage = kSteps * kStep;
  static constexpr std::int64_t kSharedBytes = kStages * kStage * 4 + sizeof(TilePlace);

  // Where in its tile a thread has its sums: rows [row, row + kHeight) and as many kRowsApart
  // further, columns [column, column + 4) so.
  LOCKSTEP_HD static constexpr int row_of(int thread) {
    return (thread / kWarp / kWarpsAcross * (kWarp / kLanes) + thread % kWarp / kLanes) * kHeight;
  }
  LOCKSTEP_HD static constexpr int column_of(int thread) {
    return (thread / kWarp % kWarpsAcross * kLanes + thread % kLanes) * 4;
  }

 private:
  static constexpr int kLanes = kColumnsApart / 4 < 8 ? kColumnsApart / 4 : 8;  // of a warp, across
  static constexpr int kWarpsAcross = kColumnsApart / 4 / kLanes;
};

// Shared memory has 32 banks of a float. It serves a load of four floats eight lanes at a time;
// lanes that want the same place do not meet.
constexpr bool no_two_meet(const int (&places)[8]) {
  for (int one = 0; one < 8; ++one) {
    for (int other = 0; other < one; ++other) {
      if (places[one] != places[other] && places[one] / 4 % 8 == places[other] / 4 % 8)
        return false;
    }
  }
  return true;
}
template <class Shape>
constexpr bool loads_meet_no_bank_twice() {
  for (int first = 0; first < Shape::kThreads; first += 8) {
    int rows[8] = {}, columns[8] = {};
    for (int lane = 0; lane < 8; ++lane) {
      rows[lane] = Shape::row_of(first + lane);
      columns[lane] = Shape::column_of(first + lane);
    }
    if (!no_two_meet(rows) || !no_two_meet(columns)) return false;
  }
  return true;
}
static_assert(loads_meet_no_bank_twice<Tile<128, 128>>() &&
              loads_meet_no_bank_twice<Tile<128, 64>>() &&
              loads_meet_no_bank_twice<Tile<64, 64>>() &&
              loads_meet_no_bank_twice<Tile<128, 32>>() &&
              loads_meet_no_bank_twice<Tile<32, 32>>());

static_assert(Tile<128, 128>::kSharedBytes <= 26 * 1024, "registers decide, not shared memory");

// A step has no more fours than that for a tile's threads: teams of them have steps in turn.
template <class Shape>
constexpr int teams_of(int side) {
  const int fours = side * kFloatStep / 4;
  return Shape::kThreads > fours ? Shape::kThreads / fours : 1;
}

// Brings stages of an operand to shared memory: of each step, Shape::kStep apart, lines of k,
// [kFloatStep][kSide + kPad]. Lines behind the depth are +0 of the left operand and -0 of the right
// one: their product -0 leaves every sum as it is.
template <class Source, class Shape, bool kRight, bool = Source::kAlongK>
class Feed {
  static constexpr int kSide = kRight ? Shape::kColumns : Shape::kRows;
  static constexpr int kTeams = teams_of<Shape>(kSide), kThreads = Shape::kThreads / kTeams;
  static constexpr int kAcross = kSide / 4, kDown = kThreads / kAcross;  // of a line; lines
  static constexpr int kQuads = kFloatStep / kDown;                      // a thread
  static_assert(kDown * kAcross == kThreads && kQuads * kDown == kFloatStep);

 public:
  LOCKSTEP_DEVICE Feed(const Source& source, int thread, int z, int outer, int k)
      : source_(source) {
    const int team = thread / kThreads, one = thread % kThreads;
    to_ = team * Shape::kStep + one / kAcross * (kSide + kPad) + one % kAcross * 4;
    place_ = source.place(z, outer + one % kAcross * 4);
    LOCKSTEP_UNROLL
    for (int q = 0; q < kQuads; ++q)
      cursors_[q] = source.cursor(k + team * kFloatStep + one / kAcross + q * kDown);
  }

  template <class Thread>
  LOCKSTEP_DEVICE void begin(Thread& t, float* stage) {
    LOCKSTEP_UNROLL
    for (int step = 0; step < Shape::kSteps; step += kTeams) {
      LOCKSTEP_UNROLL
      for (int q = 0; q < kQuads; ++q) {
        float* const to = stage + step * Shape::kStep + to_ + q * kDown * (kSide + kPad);
        if (kRight && source_.past(cursors_[q])) {
          store_quad(to, {-0.0F, -0.0F, -0.0F, -0.0F});
        } else {
          t.copy_async(to, source_.at(place_, cursors_[q]), source_.there(place_, cursors_[q]));
        }
        LOCKSTEP_UNROLL
        for (int team = 0; team < kTeams; ++team) source_.advance(cursors_[q]);
      }
    }
  }
  LOCKSTEP_DEVICE void end(float*) {}

 private:
  const Source& source_;
  int to_;
  typename Source::Place place_;
  typename Source::Cursor cursors_[kQuads];
};

// Transposed, through registers: they are loaded before a stage's sums and stored after them.
template <class Source, class Shape, bool kRight>
class Feed<Source, Shape, kRight, true> {
  static constexpr int kSide = kRight ? Shape::kColumns : Shape::kRows;
  static constexpr int kTeams = teams_of<Shape>(kSide), kThreads = Shape::kThreads / kTeams;
  static constexpr int kQuads = kSide * kFloatStep / 4 / kThreads;
  static constexpr int kDown = kThreads / (kFloatStep / 4);  // outer indices
  static_assert(kFloatStep == 8 && kQuads * kThreads == kSide * 2);

  // Where a thread stores its first float.
  LOCKSTEP_HD static constexpr int place_of(int thread) {
    return thread % 2 * 4 * (kSide + kPad) + thread / 2;
  }
  static constexpr bool stores_meet_no_bank_twice() {
    unsigned banks = 0;
    for (int lane = 0; lane < kWarp; ++lane) banks |= 1U << place_of(lane) % 32;
    return banks == 0xffffffffU;
  }

 public:
  LOCKSTEP_DEVICE Feed(const Source& source, int thread, int z, int outer, int k)
      : source_(source) {
    static_assert(stores_meet_no_bank_twice());
    const int team = thread / kThreads, one = thread % kThreads;
    to_ = team * Shape::kStep + place_of(one);
    cursor_ = source.cursor(k + team * kFloatStep + one % 2 * 4);
    LOCKSTEP_UNROLL
    for (int q = 0; q < kQuads; ++q) places_[q] = source.place(z, outer + one / 2 + q * kDown);
  }

  template <class Thread>
  LOCKSTEP_DEVICE void begin(Thread&, float*) {
    LOCKSTEP_UNROLL
    for (int step = 0; step < Shape::kSteps; step += kTeams) {
      const float none = kRight && source_.past(cursor_) ? -0.0F : 0.0F;
      LOCKSTEP_UNROLL
      for (int q = 0; q < kQuads; ++q) {
        Quad& held = held_[step / kTeams][q];
        held = Quad{{none, none, none, none}};
        if (source_.there(places_[q], cursor_)) held = load_quad(source_.at(places_[q], cursor_));
      }
      LOCKSTEP_UNROLL
      for (int team = 0; team < kTeams; ++team) source_.advance(cursor_);
    }
  }
  LOCKSTEP_DEVICE void end(float* stage) {
    LOCKSTEP_UNROLL
    for (int step = 0; step < Shape::kSteps; step += kTeams) {
      float* const to = stage + step * Shape::kStep + to_;
      LOCKSTEP_UNROLL
      for (int q = 0; q < kQuads; ++q) {
        LOCKSTEP_UNROLL
        for (int e = 0; e < 4; ++e)
          to[e * (kSide + kPad) + q * kDown] = held_[step / kTeams][q].of[e];
      }
    }
  }

 private:
  const Source& source_;
  int to_;
  typename Source::Cursor cursor_;
  typename Source::Place places_[kQuads];
  Quad held_[Shape::kSteps / kTeams][kQuads];
};

struct FloatShape {
  int batch, m, n, depth;
};

// Some of the chain's blocks of all results. One part: all of them, and the results are finished.
// Several: a part a block, whose sums go to `sums` [parts][batch][m][n].
struct Parts {
  int first = 0, count = 1;
  float* sums = nullptr;
};

template <class Shape, class Left, class Right, class Result>
struct FloatKernel {
  static constexpr int kBlockThreads = Shape::kThreads;
  static constexpr int kResidentBlocks = Shape::kResidentThreads / kBlockThreads;

  FloatShape s;
  Parts parts;
  bool quads;  // results lie in fours, aligned to 16 bytes
  Left left;
  Right right;
  Result result;

  template <class Thread>
  LOCKSTEP_DEVICE void operator()(Thread& t) const {
    const TilePlace place = place_of(t.block());
    if (t.thread() == 0) *shared_place(t) = place;
    constexpr int kStageDepth = Shape::kSteps * kFloatStep;
    constexpr int kBlockStages = static_cast<int>(kBlock) / kStageDepth;
    const int first = (parts.first + place.part) * static_cast<int>(kBlock);
    int count = (s.depth - first + kStageDepth - 1) / kStageDepth;
    if (parts.sums != nullptr && count > kBlockStages) count = kBlockStages;
    float* const stages = t.template shared<float>();
    Feed<Left, Shape, false> a(left, t.thread(), place.z, place.i, first);
    Feed<Right, Shape, true> b(right, t.thread(), place.z, place.j, first);
    const int row = Shape::row_of(t.thread()), column = Shape::column_of(t.thread());
    // What is brought behind the last stage is never read.
    for (int ahead = 0; ahead < Shape::kStages - 1; ++ahead) {
      float* const stage = stages + ahead * Shape::kStage;
      a.begin(t, stage);
      b.begin(t, stage + Shape::kLeft);
      a.end(stage);
      b.end(stage + Shape::kLeft);
      t.commit();
    }
    Sums sums = {};
    float* now = stages;  // and, as far ahead as stages go, `next`
    float* next = stages + (Shape::kStages - 1) * Shape::kStage;
    for (int stage = 0; stage < count;) {
      const bool first_block = stage == 0;
      const int end = stage + kBlockStages < count ? stage + kBlockStages : count;
      for (; stage < end; ++stage) {
        t.template wait<Shape::kStages - 2>();
        t.barrier();
        const float* const left_of = now + row;
        const float* const right_of = now + Shape::kLeft + column;
        Operands operands(left_of, right_of, 0);  // on their way while others are asked for
        a.begin(t, next);
        b.begin(t, next + Shape::kLeft);
        t.commit();
        LOCKSTEP_UNROLL
        for (int k = 0; k < kStageDepth; ++k) {
          const Operands those = operands;
          if (k + 1 < kStageDepth) operands = Operands(left_of, right_of, k + 1);
          those.multiply(sums);
        }
        a.end(next);
        b.end(next + Shape::kLeft);
        next = now;
        now = now == stages + (Shape::kStages - 1) * Shape::kStage ? stages : now + Shape::kStage;
      }
      end_block(t, first_block, stage == count, sums);
    }
    t.template wait<0>();  // for what nobody reads: the next block has this shared memory
  }

 private:
  using Sums = float[Shape::kDown * Shape::kHeight][Shape::kAcross * 4];
  using Rows = Vector<float, Shape::kHeight>;

  // A thread's, of one k of a stage.
  struct Operands {
    Rows rows[Shape::kDown];
    Quad columns[Shape::kAcross];

    LOCKSTEP_DEVICE Operands(const float* left, const float* right, int k) {
      const int step = k / kFloatStep * Shape::kStep, line = k % kFloatStep;
      const float* const a = left + step + line * (Shape::kRows + kPad);
      const float* const b = right + step + line * (Shape::kColumns + kPad);
      LOCKSTEP_UNROLL
      for (int i = 0; i < Shape::kDown; ++i)
        rows[i] = *reinterpret_cast<const Rows*>(a + i * Shape::kRowsApart);
      LOCKSTEP_UNROLL
      for (int j = 0; j < Shape::kAcross; ++j) columns[j] = load_quad(b + j * Shape::kColumnsApart);
    }
    LOCKSTEP_DEVICE void multiply(Sums& sums) const {
      LOCKSTEP_UNROLL
      for (int i = 0; i < Shape::kDown * Shape::kHeight; ++i) {
        LOCKSTEP_UNROLL
        for (int j = 0; j < Shape::kAcross * 4; ++j)
          sums[i][j] = spec::fma(rows[i / Shape::kHeight].of[i % Shape::kHeight],
                                 columns[j / 4].of[j % 4], sums[i][j]);
      }
    }
  };

  LOCKSTEP_DEVICE TilePlace place_of(std::int64_t block) const {
    const std::int64_t rows = (s.m + Shape::kRows - 1) / Shape::kRows,
                       columns = (s.n + Shape::kColumns - 1) / Shape::kColumns;
    const auto matrix = static_cast<int>(block / columns / rows);
    return TilePlace{matrix % s.batch, matrix / s.batch,
                     static_cast<int>(block / columns % rows) * Shape::kRows,
                     static_cast<int>(block % columns) * Shape::kColumns};
  }
  template <class Thread>
  LOCKSTEP_DEVICE static TilePlace* shared_place(Thread& t) {
    return reinterpret_cast<TilePlace*>(t.template shared<float>() +
                                        Shape::kStages * Shape::kStage);
  }

  template <class Row>
  LOCKSTEP_DEVICE float ended(const Row& row, int j, bool first, bool last, float before,
                              float sum) const {
    if (!first) sum = before + sum;
    return last && parts.sums == nullptr ? row(j, sum) : sum;
  }

  // Adds the block's sums to those of the blocks before, which wait where the results will be.
  template <class Thread>
  LOCKSTEP_DEVICE void end_block(Thread& t, bool first, bool last, Sums& sums) const {
    const TilePlace place = *shared_place(t);
    const int i0 = place.i + Shape::row_of(t.thread()), j0 = place.j + Shape::column_of(t.thread());
    LOCKSTEP_UNROLL
    for (int r = 0; r < Shape::kDown * Shape::kHeight; ++r) {
      const int i = i0 + r / Shape::kHeight * Shape::kRowsApart + r % Shape::kHeight;
      if (i < s.m) {
        const auto row = result.row(place.z, i);
        float* const to =
            parts.sums == nullptr
                ? row.to
                : parts.sums +
                      ((static_cast<std::int64_t>(place.part) * s.batch + place.z) * s.m + i) * s.n;
        LOCKSTEP_UNROLL
        for (int four = 0; four < Shape::kAcross; ++four) {
          const int j = j0 + four * Shape::kColumnsApart;
          const float* const sum = sums[r] + four * 4;
          if (quads && j < s.n) {
            const Quad before = first ? Quad{} : load_quad(to + j);
            Quad after;
            LOCKSTEP_UNROLL
            for (int e = 0; e < 4; ++e)
              after.of[e] = ended(row, j + e, first, last, before.of[e], sum[e]);
            store_quad(to + j, after);
          }
          LOCKSTEP_UNROLL
          for (int e = 0; e < 4; ++e) {
            if (!quads && j + e < s.n)
              to[j + e] = ended(row, j + e, first, last, first ? 0.0F : to[j + e], sum[e]);
          }
        }
      }
      LOCKSTEP_UNROLL
      for (int e = 0; e < Shape::kAcross * 4; ++e) sums[r][e] = 0.0F;
    }
  }
};

}  // namespace lockstep::numerics::cuda
