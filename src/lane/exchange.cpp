#include "lockstep/lane/exchange.h"

#include <algorithm>
#include <cstring>

#include "lockstep/core/error.h"
#include "lockstep/numerics/reduce.h"
#include "lockstep/ops/view.h"

namespace lockstep::lane {
namespace {

constexpr std::int64_t kTile = numerics::kTileFloats;

// All tensors of an exchange laid end to end, each padded to whole tiles in this count only: slices
// of ranks divide at tiles, whatever the tensors' sizes.
struct Layout {
  std::vector<std::int64_t> sizes;  // floats of each tensor
  std::vector<std::int64_t> tiles;  // first tile of each, and the total at the end

  explicit Layout(const std::vector<Tensor>& partials) : tiles{0} {
    for (const Tensor& partial : partials) {
      sizes.push_back(partial.numel() / partial.size(0));
      tiles.push_back(tiles.back() + (sizes.back() + kTile - 1) / kTile);
    }
  }

  // Pieces of tensors inside tiles [first, last): calls body(tensor, offset in it, floats).
  template <class Body>
  void pieces(std::int64_t first, std::int64_t last, Body&& body) const {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t begin = std::max(first, tiles[i]) - tiles[i],
                         end = std::min(last, tiles[i + 1]) - tiles[i];
      if (begin < end) body(i, begin * kTile, std::min(end * kTile, sizes[i]) - begin * kTile);
    }
  }

  std::int64_t floats(std::int64_t first, std::int64_t last) const {
    std::int64_t total = 0;
    pieces(first, last, [&](std::size_t, std::int64_t, std::int64_t count) { total += count; });
    return total;
  }
};

ByteView view(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}
MutableByteView view(std::vector<float>& values) {
  return std::as_writable_bytes(std::span(values));
}

// Partials of one rank's slice, subtree by subtree, as they travel.
std::vector<float> packed(const Layout& layout, const std::vector<Tensor>& partials,
                          std::int64_t first, std::int64_t last) {
  const std::int64_t rows = partials.front().size(0);
  std::vector<float> out(static_cast<std::size_t>(rows * layout.floats(first, last)));
  float* to = out.data();
  for (std::int64_t p = 0; p < rows; ++p) {
    layout.pieces(first, last, [&](std::size_t i, std::int64_t offset, std::int64_t count) {
      to = std::copy_n(ops::read(partials[i]) + p * layout.sizes[i] + offset, count, to);
    });
  }
  return out;
}

std::vector<Tensor> whole_tensors(const std::vector<Tensor>& partials) {
  std::vector<Tensor> whole;
  for (const Tensor& partial : partials) whole.push_back(ops::empty(partial.sizes().slice(1)));
  return whole;
}

// One rank: nothing travels.
std::vector<Tensor> sum_alone(const std::vector<Tensor>& partials) {
  std::vector<Tensor> whole;
  for (const Tensor& partial : partials) {
    LOCKSTEP_ASSERT(partial.size(0) == 1);
    whole.push_back(ops::first_part(partial));
  }
  return whole;
}

}  // namespace

std::vector<Tensor> exchange(const Plan& plan, comm::Group& group,
                             const std::vector<Tensor>& partials) {
  if (partials.empty()) return {};
  if (group.size() == 1) return sum_alone(partials);
  const Layout layout(partials);
  const auto world = static_cast<std::size_t>(group.size());
  const auto bound = [&](std::size_t r) {
    return layout.tiles.back() * static_cast<std::int64_t>(r) / static_cast<std::int64_t>(world);
  };
  const auto me = static_cast<std::size_t>(group.rank().value);
  const std::int64_t my_floats = layout.floats(bound(me), bound(me + 1));

  // Every rank receives its slice of all partials.
  std::vector<std::vector<float>> outgoing, incoming;
  std::vector<ByteView> to;
  std::vector<MutableByteView> from;
  std::vector<numerics::Subtree> nodes;
  for (std::size_t r = 0; r < world; ++r) {
    const auto subtrees = plan.subtrees(Rank(static_cast<std::int64_t>(r)));
    outgoing.push_back(packed(layout, partials, bound(r), bound(r + 1)));
    incoming.emplace_back(subtrees.size() * static_cast<std::size_t>(my_floats));
    nodes.insert(nodes.end(), subtrees.begin(), subtrees.end());
  }
  for (std::size_t r = 0; r < world; ++r) {
    to.push_back(view(std::as_const(outgoing)[r]));
    from.push_back(view(incoming[r]));
  }
  group.all_to_all(to, from);

  // The tree over all lanes, locally.
  std::vector<const float*> rows;
  for (const std::vector<float>& buffer : incoming) {
    for (std::size_t at = 0; my_floats > 0 && at < buffer.size();
         at += static_cast<std::size_t>(my_floats))
      rows.push_back(buffer.data() + at);
  }
  std::vector<float> mine(static_cast<std::size_t>(my_floats));
  if (my_floats > 0)
    numerics::tree_sum_nodes(plan.lanes(), nodes, rows.data(), my_floats, mine.data());

  // Everybody gets every slice.
  std::vector<std::vector<float>> slices;
  std::vector<MutableByteView> gathered;
  for (std::size_t r = 0; r < world; ++r)
    slices.emplace_back(static_cast<std::size_t>(layout.floats(bound(r), bound(r + 1))));
  for (std::vector<float>& slice : slices) gathered.push_back(view(slice));
  group.all_gather(view(std::as_const(mine)), gathered);

  std::vector<Tensor> whole = whole_tensors(partials);
  for (std::size_t r = 0; r < world; ++r) {
    const float* at = slices[r].data();
    layout.pieces(bound(r), bound(r + 1),
                  [&](std::size_t i, std::int64_t offset, std::int64_t count) {
                    std::copy_n(at, count, ops::write(whole[i]) + offset);
                    at += count;
                  });
  }
  return whole;
}

namespace {

// Whole gradients of one entered tensor's uses, added in use order. Uses are added behind the
// exchange: partials of different world sizes would pair the same numbers differently.
Tensor sum_of_uses(const std::vector<Tensor>& grads) {
  LOCKSTEP_ASSERT(!grads.empty(), "a tensor entered the lane graph and does not reach the loss");
  Tensor total = grads.front().contiguous();
  for (std::size_t use = 1; use < grads.size(); ++use) {
    const Tensor grad = grads[use].contiguous();
    Tensor sum = ops::empty(total.sizes());
    numerics::binary(numerics::Binary::kAdd, sum.numel(), ops::read(total), ops::read(grad),
                     ops::write(sum));
    total = sum;
  }
  return total;
}

// The parameter graph's backward pass: from gradients of the entered tensors to those of the
// parameters.
std::vector<Tensor> parameter_gradients(const std::vector<Entered>& entered,
                                        const std::vector<Tensor>& whole,
                                        const std::vector<Tensor>& parameters) {
  std::vector<Tensor> result(parameters.size());
  std::vector<Tensor> roots, root_grads;
  for (std::size_t i = 0; i < entered.size(); ++i) {
    const auto leaf = std::find_if(parameters.begin(), parameters.end(),
                                   [&](const Tensor& p) { return p.is_same(entered[i].root); });
    if (leaf != parameters.end()) {
      result[static_cast<std::size_t>(leaf - parameters.begin())] = whole[i];
    } else {
      roots.push_back(entered[i].root);
      root_grads.push_back(whole[i]);
    }
  }
  std::vector<Tensor> rest;
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (result[i].defined()) continue;
    rest.push_back(parameters[i]);
    where.push_back(i);
  }
  if (rest.empty()) return result;
  const std::vector<Tensor> grads = ops::gradients(roots, root_grads, rest, /*create_graph=*/false);
  for (std::size_t i = 0; i < rest.size(); ++i) {
    LOCKSTEP_ASSERT(grads[i].defined(), "parameter number " + std::to_string(where[i]) +
                                            " of the phase gets no gradient");
    result[where[i]] = grads[i];
  }
  return result;
}

}  // namespace

PhaseGradients backward(Context& context, const Tensor& loss, float seed,
                        const std::vector<Tensor>& parameters) {
  std::vector<Tensor> all_uses;
  for (const Entered& entered : context.entered())
    all_uses.insert(all_uses.end(), entered.uses.begin(), entered.uses.end());
  const std::vector<Tensor> grads =
      ops::gradients({loss}, {ops::filled(loss.sizes(), seed)}, all_uses, /*create_graph=*/false);

  // A use that does not reach the loss (a bias under a gradient penalty) has nothing to send.
  std::vector<Tensor> partials = {ops::bare(loss).contiguous()};
  for (const Tensor& grad : grads) {
    if (grad.defined()) partials.push_back(grad.contiguous());
  }
  const std::vector<Tensor> exchanged = exchange(context.plan(), context.group(), partials);
  PhaseGradients result;
  result.loss_sum = *ops::read(exchanged.front());

  std::vector<Tensor> whole;  // one an entered tensor
  auto grad = grads.begin();
  auto arrived = exchanged.begin() + 1;
  for (const Entered& entered : context.entered()) {
    std::vector<Tensor> uses;
    for (std::size_t use = 0; use < entered.uses.size(); ++use) {
      if ((grad++)->defined()) uses.push_back(*arrived++);
    }
    whole.push_back(sum_of_uses(uses));
  }
  result.gradients = parameter_gradients(context.entered(), whole, parameters);
  return result;
}

}  // namespace lockstep::lane
