#include "train/shards.h"

#include <algorithm>

#include "lockstep/comm/gather.h"
#include "lockstep/lane/shards.h"
#include "lockstep/numerics/reduce.h"
#include "lockstep/ops/record.h"

namespace lockstep::train {
namespace {

bool divided(const state::State& state) {
  return std::ranges::any_of(state.tensors,
                             [](const state::Named& named) { return named.part.has_value(); });
}

std::int64_t floats_of(const state::Named& named) {
  return c10::multiply_integers(named.shape());
}

std::int64_t tiles_of(std::int64_t floats) {
  return (floats + numerics::kTileFloats - 1) / numerics::kTileFloats;
}

// The tiles [first, last) of a tensor that fall to a rank.
struct Tiles {
  std::size_t first, last;
};
Tiles tiles_of(std::int64_t turn, std::int64_t floats, std::size_t rank, int world) {
  const lane::Slice slice =
      lane::slice_of(turn, floats, Rank(static_cast<std::int64_t>(rank)), world);
  const auto first = static_cast<std::size_t>(tiles_of(slice.first));
  return {first, first + static_cast<std::size_t>(tiles_of(slice.size()))};
}

}  // namespace

void note_slots(const state::State& state, const std::string& role, SlotHashes& slot_hashes) {
  state::State slots;
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const state::Named& named = state.tensors[i];
    if (!named.part || !named.name.starts_with(role + "/")) continue;
    slots.tensors.push_back(named);
    numbers.push_back(i);
  }
  state::Leaves leaves = state::leaves(slots);
  for (std::size_t i = 0; i < numbers.size(); ++i) slot_hashes[numbers[i]] = std::move(leaves[i]);
}

state::StateDigest digest(comm::Group& group, const state::State& state,
                          const SlotHashes& slot_hashes) {
  state::State rest = state;
  for (const auto& [i, hashes] : slot_hashes) rest.tensors[i].tensor = at::Tensor();
  state::Leaves leaves = state::leaves(rest);
  for (const auto& [i, hashes] : slot_hashes) leaves[i] = hashes;
  if (divided(state)) {
    std::vector<hash::Leaf> mine;
    std::vector<std::size_t> counts(static_cast<std::size_t>(group.size()));
    const auto each = [&](auto&& body) {
      for (std::size_t i = 0; i < leaves.size(); ++i) {
        const state::Named& named = state.tensors[i];
        if (!named.part) continue;
        for (std::size_t r = 0; r < counts.size(); ++r)
          body(r, leaves[i], tiles_of(named.part->turn, floats_of(named), r, group.size()));
      }
    };
    each([&](std::size_t rank, const auto& of_tensor, Tiles tiles) {
      counts[rank] += tiles.last - tiles.first;
      if (Rank(static_cast<std::int64_t>(rank)) == group.rank())
        mine.insert(mine.end(), of_tensor.begin() + static_cast<std::ptrdiff_t>(tiles.first),
                    of_tensor.begin() + static_cast<std::ptrdiff_t>(tiles.last));
    });
    const auto all = comm::gather(group, mine, counts);
    std::vector<std::size_t> taken(counts.size());
    each([&](std::size_t rank, auto& of_tensor, Tiles tiles) {
      for (std::size_t tile = tiles.first; tile < tiles.last; ++tile)
        of_tensor[tile] = all[rank][taken[rank]++];
    });
  }
  return state::digest(state, std::move(leaves));
}

state::StateDigest digest(const state::State& state, const state::StateDigest& known) {
  state::Leaves leaves = state::leaves(state);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const auto [first, last] = state::held_tiles(state.tensors[i]);
    for (std::size_t tile = 0; tile < leaves[i].size(); ++tile) {
      if (tile < first || tile >= last) leaves[i][tile] = known.leaves[i][tile];
    }
  }
  return state::digest(state, std::move(leaves));
}

std::optional<state::State> whole_state(comm::Group& group, const state::State& state) {
  if (!divided(state)) return state;
  state::State whole = state;
  std::vector<lane::Shard> shards;
  for (state::Named& named : whole.tensors) {
    if (!named.part) continue;
    const at::Tensor slice = named.tensor;
    named.tensor = group.rank() == Rank(0) ? ops::empty(named.part->shape) : at::Tensor();
    shards.push_back({named.name, named.part->turn, floats_of(named), slice, named.tensor});
    named.part.reset();
  }
  lane::gather(group, Rank(0), shards);
  if (group.rank() != Rank(0)) return std::nullopt;
  return whole;
}

void scatter(comm::Group& group, const state::State* whole, state::State& state) {
  std::vector<float> passing;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    state::Named& named = state.tensors[i];
    float* held = ops::write(named.tensor);
    const auto floats = static_cast<std::size_t>(floats_of(named));
    if (!named.part) {
      group.broadcast(Rank(0), std::as_writable_bytes(std::span(held, floats)));
      continue;
    }
    passing.resize(floats);
    if (whole) std::copy_n(ops::read(whole->tensors[i].tensor), floats, passing.data());
    group.broadcast(Rank(0), std::as_writable_bytes(std::span(passing)));
    std::copy_n(passing.data() + named.first(), named.tensor.numel(), held);
  }
}

std::vector<float> all_squares(comm::Group& group, const std::vector<at::Tensor>& parameters,
                               const std::vector<at::Tensor>& slices) {
  const auto world = static_cast<std::size_t>(group.size());
  std::vector<std::int64_t> counts(world);
  std::vector<std::vector<Tiles>> owned(parameters.size());  // by rank
  std::size_t tiles = 0;
  lane::Turns turns;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::int64_t turn = turns.next(parameters[i].numel());
    for (std::size_t r = 0; r < world; ++r) {
      owned[i].push_back(tiles_of(turn, parameters[i].numel(), r, group.size()));
      counts[r] += static_cast<std::int64_t>(owned[i][r].last - owned[i][r].first);
    }
    tiles += static_cast<std::size_t>(tiles_of(parameters[i].numel()));
  }
  const std::vector<float> by_rank = lane::gather_sealed(group, "sums of squares of gradients",
                                                         optim::tile_squares(slices), counts);
  std::vector<std::size_t> from(world);  // where each rank's next tile is
  for (std::size_t r = 1; r < world; ++r)
    from[r] = from[r - 1] + static_cast<std::size_t>(counts[r - 1]);
  std::vector<float> squares(tiles);
  std::size_t tensor = 0;  // where its tiles begin
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    for (std::size_t r = 0; r < world; ++r) {
      for (std::size_t tile = owned[i][r].first; tile < owned[i][r].last; ++tile)
        squares[tensor + tile] = by_rank[from[r]++];
    }
    tensor += static_cast<std::size_t>(tiles_of(parameters[i].numel()));
  }
  return squares;
}

void share_updates(comm::Group& group, const Trained& trained) {
  std::vector<lane::Shard> shards;
  const auto named = trained.network->parameters_in_order();
  for (std::size_t i = 0; i < named.size(); ++i)
    shards.push_back({trained.role + "/param/" + named[i].path, trained.parts[i].turn,
                      named[i].tensor.numel(), trained.updated[i], ops::bare(named[i].tensor)});
  lane::all_gather(group, shards);
}

}  // namespace lockstep::train
