#include "train/agree.h"

#include "lockstep/core/error.h"

namespace lockstep::train {
namespace {

template <class T>
std::vector<std::vector<T>> gather(comm::Group& group, const std::vector<T>& mine) {
  std::vector<std::vector<T>> all(static_cast<std::size_t>(group.size()),
                                  std::vector<T>(mine.size()));
  std::vector<MutableByteView> from;
  for (std::vector<T>& theirs : all) from.push_back(std::as_writable_bytes(std::span(theirs)));
  group.all_gather(std::as_bytes(std::span(mine)), from);
  return all;
}

// The value that most ranks hold; the lowest rank's where nobody has a majority.
template <class T>
std::size_t majority_rank(const std::vector<std::vector<T>>& all, const auto& same) {
  std::size_t best = 0, best_votes = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    std::size_t votes = 0;
    for (const std::vector<T>& other : all) votes += same(all[r], other);
    if (votes > best_votes) {
      best = r;
      best_votes = votes;
    }
  }
  return best;
}

}  // namespace

void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest) {
  if (group.size() == 1) return;
  const auto roots = gather(group, std::vector<hash::Digest>{digest.root});
  const auto same = [](const auto& a, const auto& b) { return a == b; };
  const std::size_t usual = majority_rank(roots, same);
  std::size_t odd = roots.size();
  for (std::size_t r = 0; r < roots.size() && odd == roots.size(); ++r) {
    if (roots[r] != roots[usual]) odd = r;
  }
  if (odd == roots.size()) return;

  // Walk down: tensors, then tiles of the first that differs. All ranks walk the same way.
  const auto tensors = gather(group, digest.tensors);
  state::StateDigest theirs = digest, reference = digest;
  theirs.tensors = tensors[odd];
  reference.tensors = tensors[usual];
  for (std::size_t i = 0; i < digest.tensors.size(); ++i) {
    if (tensors[odd][i] == tensors[usual][i]) continue;
    const auto leaves = gather(group, digest.leaves[i]);
    theirs.leaves[i] = leaves[odd];
    reference.leaves[i] = leaves[usual];
    break;
  }
  const auto difference = state::first_difference(state, theirs, reference);
  throw Error(
      Code::kDiffer,
      "step " + std::to_string(state.step.value) + ": rank " + std::to_string(odd) +
          " holds another state than rank " + std::to_string(usual) + ": " +
          (difference ? difference->tensor + ", elements " + std::to_string(difference->first) +
                            " to " + std::to_string(difference->last - 1)
                      : std::string("the cursor")),
      group.size() == 2 ? "two ranks cannot outvote each other; replay tells which is right"
                        : "that rank's machine computes wrongly");
}

}  // namespace lockstep::train
