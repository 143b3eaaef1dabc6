// Private: group norm of groups that a block's shared memory holds, for CUDA (norm.h). The block
// reads them once, folds them and normalises them where they are.
//
// A tile is some neighbouring channels of a sample, whole groups, at all positions. In shared
// memory it is [blocks of a chain][512 positions and one more][width]: so the chains of
// neighbouring channels and blocks, folded by neighbouring threads, never meet in a bank.
#pragma once

#include <numeric>
#include <optional>

#include "numerics/cuda/elements.h"
#include "numerics/cuda/groups-inl.h"

namespace lockstep::numerics::cuda {

// How tensors are cut.
struct GroupTile {
  // A tile is made wider as long as it is small: more threads fold, and read neighbours. Rows of
  // less than a sector of memory cost most.
  static constexpr std::int64_t kSector = 8, kWide = 32;                         // channels
  static constexpr std::int64_t kSmall = 40 * 1024, kSmallOfSector = 72 * 1024;  // bytes

  std::int64_t samples, c, all_groups;
  Groups in_tile;
  float count;  // of a group
  Divisor by_width, by_tiles;

  // Of kernels that hold so many tensors. None where no tile is whole groups and a multiple of four
  // channels, or where a block cannot hold it.
  template <class Gpu>
  static std::optional<GroupTile> of(const GroupNormShape& s, int tensors, const Gpu& gpu) {
    const std::int64_t per_group = groups_of(s).per_group;
    const auto with = [&](std::int64_t width) {
      GroupNormShape part = s;
      part.n = 1;
      part.c = width;
      part.groups = width / per_group;
      const std::int64_t tiles = s.c / width;
      return GroupTile{
          s.n,
          s.c,
          s.groups,
          groups_of(part),
          static_cast<float>(s.spatial * per_group),
          Divisor(width, gpu.most_shared()),  // threads' numbers, and what lies in memory
          Divisor(tiles, s.n * tiles)};
    };
    if (s.c == 0 || s.spatial == 0 || s.c % 4 != 0) return {};
    std::int64_t width = std::lcm(per_group, std::int64_t{4});
    if (width > kThreads || with(width).shared_bytes(tensors) > gpu.most_shared()) return {};
    const auto pays = [&](const GroupTile& wider) {
      const std::int64_t most = wider.in_tile.c <= kSector ? kSmallOfSector : kSmall;
      return wider.in_tile.c <= kWide && wider.shared_bytes(tensors) <= most &&
             wider.blocks() >= 2 * gpu.multiprocessors();
    };
    while (s.c % (2 * width) == 0 && pays(with(2 * width))) width *= 2;
    return with(width);
  }

  std::int64_t blocks() const { return samples * by_tiles.value(); }
  // Blocks of a chain.
  LOCKSTEP_HD std::int64_t parts() const { return (in_tile.spatial + kBlock - 1) / kBlock; }
  LOCKSTEP_HD std::int64_t sums() const { return parts() * in_tile.c; }
  // Floats of a tensor's tile.
  LOCKSTEP_HD std::int64_t size() const { return (in_tile.spatial + parts() - 1) * in_tile.c; }
  // Two sums of each chain's block and two statistics of each group are behind the tiles.
  std::int64_t shared_bytes(int tensors) const {
    return 4 * (tensors * size() + 2 * sums() + 2 * in_tile.groups);
  }
  template <class Kernel>
  Grid grid() const {
    const std::int64_t bytes = shared_bytes(Kernel::kTensors);
    return {blocks(), bytes > kSmall ? Kernel::kBlockThreads : kThreads, bytes};
  }
};

// A block's tile of kTensors tensors.
template <int kTensors, class Thread>
class TileOfBlock {
 public:
  LOCKSTEP_DEVICE TileOfBlock(Thread& t, const GroupTile& cut)
      : t_(t),
        cut_(cut),
        width_(static_cast<int>(cut.in_tile.c)),
        spatial_(static_cast<int>(cut.in_tile.spatial)),
        sums_(static_cast<int>(cut.sums())),
        sample_(static_cast<int>(cut.by_tiles.quotient(t.block()))),
        tile_(static_cast<int>(cut.by_tiles.remainder(t.block()))),
        found_(t.template shared<float>() + kTensors * cut.size()) {}

  LOCKSTEP_DEVICE std::int64_t sample() const { return sample_; }
  // Channel j of the tile, among all.
  LOCKSTEP_DEVICE int channel(int j) const { return tile_ * width_ + j; }
  // Group i of the tile, among those of all samples.
  LOCKSTEP_DEVICE std::int64_t group(int i) const {
    return sample() * cut_.all_groups + tile_ * cut_.in_tile.groups + i;
  }
  LOCKSTEP_DEVICE int group_of(int j) const {
    return static_cast<int>(cut_.in_tile.by_per_group.quotient(j));
  }
  LOCKSTEP_DEVICE float* tile(int tensor) const {
    return t_.template shared<float>() + tensor * cut_.size();
  }

  // Rows of all channels, perhaps cut in two, on their way to a tile.
  LOCKSTEP_DEVICE void load(const Sides<const float>& rows, int tensor) const {
    const int row = over_width(4 * t_.thread()), apart = over_width(4 * t_.threads());
    const int j = 4 * t_.thread() - row * width_;
    const auto from = column_of(rows, cut_.c, sample() * spatial_, channel(j));
    for (int p = row; row < apart && p < spatial_; p += apart)
      t_.copy_async(tile(tensor) + place(p) + j, &from(p), true);
    t_.commit();
  }
  // All that was loaded is there.
  LOCKSTEP_DEVICE void arrive() const {
    t_.template wait<0>();
    t_.barrier();
  }
  LOCKSTEP_DEVICE void barrier() const { t_.barrier(); }

  // of(j) is what a thread has of channel j: one.write(p, at, one.read(p, at)) is called for each
  // of its positions p, which is at `at` in the tile.
  template <class Of>
  LOCKSTEP_DEVICE void each(const Of& of) const {
    const int row = over_width(t_.thread()), apart = over_width(t_.threads());
    if (row >= apart) return;
    const int j = t_.thread() - row * width_;
    const auto one = of(j);
    for (int p = row; p < spatial_; p += kTogether * apart)
      together(
          p, apart, spatial_, [&](int at) { return one.read(at, place(at) + j); },
          [&](int at, const auto& value) { one.write(at, place(at) + j, value); });
  }

  // kFolds chains of each channel: of(j)(accs, at) adds what channel j has at a place. All threads
  // have what others have found.
  template <int kFolds, class Of>
  LOCKSTEP_DEVICE void fold(const Of& of) const {
    constexpr int kSome = 16, kPart = static_cast<int>(kBlock);
    for (int f = t_.thread(); f < sums_; f += t_.threads()) {
      const int part = over_width(f), j = f - part * width_;
      const int left = spatial_ - part * kPart, count = left < kPart ? left : kPart;
      const auto one = of(j);
      float accs[kFolds] = {};
      int at = place(part * kPart) + j, k = 0;
      for (; k + kSome <= count; k += kSome, at += kSome * width_) {
        LOCKSTEP_UNROLL
        for (int n = 0; n < kSome; ++n) one(accs, at + n * width_);
      }
      for (; k < count; ++k, at += width_) one(accs, at);
      LOCKSTEP_UNROLL
      for (int i = 0; i < kFolds; ++i) found_[i * sums_ + f] = accs[i];
    }
    t_.barrier();
  }
  // What a fold found: the chain of channel j of the tile.
  LOCKSTEP_DEVICE ChainSums chains(int fold) const {
    return {found_ + fold * sums_, cut_.parts(), width_};
  }

  // Of each group i of the tile statistic number 0, 1, …: of(i, mean) of the mean that step makes
  // of its chains. All threads have what others have kept.
  template <class Step, class Of>
  LOCKSTEP_DEVICE void keep(int number, int fold, const Step& step, const Of& of) const {
    const GroupMean<Step> mean{cut_.in_tile, cut_.count, chains(fold), step};
    for (int i = t_.thread(); i < cut_.in_tile.groups; i += t_.threads())
      found_[2 * sums_ + number * cut_.in_tile.groups + i] = of(i, mean(i));
    t_.barrier();
  }
  LOCKSTEP_DEVICE float kept(int number, int j) const {
    return found_[2 * sums_ + number * cut_.in_tile.groups + group_of(j)];
  }

 private:
  LOCKSTEP_DEVICE int over_width(int n) const {
    return static_cast<int>(cut_.by_width.quotient(n));
  }
  LOCKSTEP_DEVICE int place(int p) const {
    return (p + static_cast<int>(static_cast<unsigned>(p) / static_cast<unsigned>(kBlock))) *
           width_;
  }

  Thread& t_;
  const GroupTile& cut_;
  const int width_, spatial_, sums_, sample_, tile_;
  float* const found_;
};

}  // namespace lockstep::numerics::cuda
