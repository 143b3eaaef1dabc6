#include <algorithm>
#include <atomic>
#include <string>

#include "lockstep/core/error.h"
#include "lockstep/numerics/cpu.h"
#include "numerics/cpu/elementwise_kernels.h"
#include "numerics/cpu/update_kernels.h"

namespace lockstep::numerics {
namespace {

// Elements that go through everything at a time: what is read and written of them, with the keys of
// their hashes, stays in the first-level cache.
constexpr std::int64_t kPiece = 512;
static_assert(kTileFloats % kPiece == 0);

struct Tile {
  const UpdatedTensor* tensor;
  std::int64_t first, last;
};

std::size_t slots_of(const UpdateRule& rule) {
  if (std::holds_alternative<Keep>(rule)) return 0;
  return std::holds_alternative<AdamW>(rule) ? 2 : 1;
}

// Of all tensors in one line: threads share small ones too.
std::vector<Tile> tiles_of(const UpdateRule& rule, std::span<const UpdatedTensor> tensors) {
  std::vector<Tile> tiles;
  for (const UpdatedTensor& one : tensors) {
    LOCKSTEP_ASSERT(one.slots.size() == slots_of(rule), std::to_string(one.slots.size()));
    for (std::int64_t first = 0; first < one.n; first += kTileFloats)
      tiles.push_back({&one, first, std::min(first + kTileFloats, one.n)});
  }
  return tiles;
}

// Elements [begin, end) of a tensor by one rule.
struct Apply {
  const UpdateKernels& kernels;
  const UpdatedTensor& t;
  std::int64_t begin, end;

  void operator()(const Keep&) const {}
  void operator()(const AdamW& s) const {
    kernels.adamw(s, begin, end, t.g, t.p.values, t.slots[0].values, t.slots[1].values);
  }
  void operator()(const Sgd& s) const {
    kernels.sgd(s, begin, end, t.g, t.p.values, t.slots[0].values);
  }
  void operator()(const Lion& s) const {
    kernels.lion(s, begin, end, t.g, t.p.values, t.slots[0].values);
  }
};

// What a thread does: tile after tile.
class TileUpdate {
 public:
  TileUpdate(Isa isa, const UpdateRule& rule)
      : kernels_(update_kernels(isa)),
        all_finite_(elementwise_kernels(isa).all_finite),
        rule_(rule) {}

  void operator()(const Tile& tile) {
    const UpdatedTensor& t = *tile.tensor;
    arrays_.clear();
    arrays_.push_back({&t.p, {}, {}});
    for (const Updated& slot : t.slots) arrays_.push_back({&slot, {}, {}});
    for (const UpdatedTensor::Average& average : t.averages)
      arrays_.push_back({&average.e, {}, {}});

    for (std::int64_t begin = tile.first; begin < tile.last; begin += kPiece) {
      const std::int64_t end = std::min(begin + kPiece, tile.last);
      const auto piece_of = [&](const Updated& array) {
        return std::as_bytes(std::span<const float>(array.values + begin, array.values + end));
      };
      for (Array& one : arrays_)
        if (one.array->before) one.before.add(piece_of(*one.array));
      std::visit(Apply{kernels_, t, begin, end}, rule_);
      for (const UpdatedTensor::Average& average : t.averages)
        kernels_.ema(average.one_minus_decay, begin, end, t.p.values, average.e.values);
      for (Array& one : arrays_) {
        if (one.array->after) one.after.add(piece_of(*one.array));
        finite_ = finite_ && all_finite_(end - begin, one.array->values + begin);
      }
    }

    const std::int64_t number = tile.first / kTileFloats;
    for (const Array& one : arrays_) {
      if (one.array->before) one.array->before[number] = one.before.finish();
      if (one.array->after) one.array->after[number] = one.after.finish();
    }
  }

  // All that was written.
  bool finite() const { return finite_; }

 private:
  struct Array {
    const Updated* array;
    hash::LeafSum before, after;
  };

  const UpdateKernels& kernels_;
  const decltype(ElementwiseKernels::all_finite) all_finite_;
  const UpdateRule& rule_;
  std::vector<Array> arrays_;  // of the tile
  bool finite_ = true;
};

}  // namespace

std::unique_ptr<PendingUpdate> Cpu::update(const UpdateRule& rule,
                                           std::span<const UpdatedTensor> tensors) {
  std::atomic<bool> finite{true};
  const std::vector<Tile> tiles = tiles_of(rule, tensors);
  parallel_for(static_cast<std::int64_t>(tiles.size()), 1,
               [&](std::int64_t begin, std::int64_t end) {
                 TileUpdate update(isa(), rule);
                 for (std::int64_t i = begin; i < end; ++i)
                   update(tiles[static_cast<std::size_t>(i)]);
                 if (!update.finite()) finite = false;
               });
  return std::make_unique<DoneUpdate>(finite);
}

}  // namespace lockstep::numerics
