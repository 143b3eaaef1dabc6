#include "train/divided_state.h"

#include <algorithm>
#include <span>

#include "lockstep/comm/gather.h"
#include "lockstep/lane/slices.h"
#include "lockstep/ops/device.h"
#include "lockstep/ops/record.h"

namespace lockstep::train {
namespace {

std::vector<Division> divisions_of(const state::State& state) {
  std::vector<Division> divisions;
  for (const state::Named& named : state.tensors)
    if (named.part) divisions.push_back(named.part->division);
  return divisions;
}

std::size_t tiles_in(std::int64_t floats) {
  return static_cast<std::size_t>(lane::tiles_in(floats));
}

// Of the tensors, by rank.
std::vector<std::size_t> tile_counts(const std::vector<Division>& tensors, int world) {
  std::vector<std::size_t> counts;
  for (Rank rank; rank.value < world; ++rank) {
    counts.push_back(0);
    for (const Division& one : tensors) counts.back() += tiles_in(one.slice(rank).size());
  }
  return counts;
}

// A value for each tile of the tensors, in order, out of what each rank has for its own tiles.
template <class T>
std::vector<T> in_order(const std::vector<Division>& tensors,
                        const std::vector<std::vector<T>>& by_rank) {
  std::vector<T> all;
  std::vector<std::size_t> taken(by_rank.size());
  for (const Division& one : tensors) {
    const std::size_t begin = all.size();
    all.resize(begin + tiles_in(one.size()));
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      const Slice& slice = one.slice(Rank(static_cast<std::int64_t>(r)));
      for (std::size_t tile = 0; tile < tiles_in(slice.size()); ++tile)
        all[begin + tiles_in(slice.first) + tile] = by_rank[r][taken[r]++];
    }
  }
  return all;
}

}  // namespace

state::StateDigest digest(comm::Group& group, const state::State& state, state::Leaves taken) {
  state::Leaves leaves = state::leaves(state, std::move(taken));
  const std::vector<Division> divisions = divisions_of(state);
  if (!divisions.empty()) {
    std::vector<hash::Leaf> mine;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!state.tensors[i].part) continue;
      const auto [first, last] = state::held_tiles(state.tensors[i]);
      const auto held = std::span(leaves[i]).subspan(first, last - first);
      mine.insert(mine.end(), held.begin(), held.end());
    }
    const std::vector<hash::Leaf> all =
        in_order(divisions, comm::gather(group, mine, tile_counts(divisions, group.size())));
    auto next = all.begin();
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (!state.tensors[i].part) continue;
      std::copy_n(next, leaves[i].size(), leaves[i].begin());
      next += std::ssize(leaves[i]);
    }
  }
  return state::digest(state, std::move(leaves));
}

state::Leaves whole_leaves(const state::State& state, const state::Leaves& known,
                           state::Leaves taken) {
  state::Leaves leaves = state::leaves(state, std::move(taken));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!state.tensors[i].part) continue;
    const auto [first, last] = state::held_tiles(state.tensors[i]);
    for (std::size_t tile = 0; tile < leaves[i].size(); ++tile) {
      if (tile < first || tile >= last) leaves[i][tile] = known[i][tile];
    }
  }
  return leaves;
}

std::optional<state::State> whole_state(comm::Group& group, const state::State& state) {
  state::State whole = state;
  std::vector<lane::SlicedTensor> sliced;
  for (state::Named& named : whole.tensors) {
    if (!named.part) continue;
    const at::Tensor slice = named.tensor;
    named.tensor = group.rank() == Rank(0) ? ops::empty(named.part->shape) : at::Tensor();
    sliced.push_back({named.name, named.part->division, slice, named.tensor});
    named.part.reset();
  }
  if (sliced.empty()) return whole;
  lane::gather(group, Rank(0), sliced);
  if (group.rank() != Rank(0)) return std::nullopt;
  return whole;
}

Tensor all_squares(comm::Group& group, const Trained& trained, const Tensor& mine) {
  if (trained.divisions.empty()) return mine;
  const ops::HostView here(mine);
  const std::vector<float> all = in_order(
      trained.divisions, lane::gather_sealed(group, "sums of squares of gradients",
                                             {here.floats().begin(), here.floats().end()},
                                             tile_counts(trained.divisions, group.size())));
  return ops::from_host(all, {std::ssize(all)});
}

void gather_parameters(comm::Group& group, const Trained& trained) {
  if (trained.divisions.empty()) return;
  std::vector<lane::SlicedTensor> sliced;
  const auto named = trained.network->parameters_in_order();
  for (std::size_t i = 0; i < named.size(); ++i)
    sliced.push_back({trained.role + "/param/" + named[i].path, trained.divisions[i],
                      trained.updated[i], ops::bare(named[i].tensor)});
  lane::all_gather(group, sliced);
}

}  // namespace lockstep::train
