#include "train/agree.h"

#include <algorithm>
#include <bit>

#include "lockstep/comm/gather.h"
#include "lockstep/core/bytes.h"
#include "lockstep/core/error.h"
#include "lockstep/core/text.h"
#include "lockstep/ops/device.h"

namespace lockstep::train {
namespace {

// The rank whose value most ranks hold; the lowest rank if there is no majority.
template <class T>
std::size_t majority_rank(const std::vector<T>& all) {
  std::size_t best = 0;
  std::ptrdiff_t best_votes = 0;
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::ptrdiff_t votes = std::count(all.begin(), all.end(), all[r]);
    if (votes > best_votes) {
      best = r;
      best_votes = votes;
    }
  }
  return best;
}

// With its bits: NaNs and zeros differ where numbers do not.
std::string in_full(float value) {
  Bytes bits;
  for (int shift = 24; shift >= 0; shift -= 8)
    bits.push_back(static_cast<std::byte>(std::bit_cast<std::uint32_t>(value) >> shift));
  return to_text(value) + " (0x" + to_hex(bits) + ")";
}

// What two ranks hold of one tile, element by element.
std::string values_of(const std::vector<float>& odd, const std::vector<float>& usual,
                      std::int64_t first) {
  std::size_t at = 0, differing = 0;
  for (std::size_t i = odd.size(); i-- > 0;) {
    if (std::bit_cast<std::uint32_t>(odd[i]) == std::bit_cast<std::uint32_t>(usual[i])) continue;
    at = i;
    ++differing;
  }
  return std::to_string(differing) + " differ, the first is element " +
         std::to_string(first + static_cast<std::int64_t>(at)) + ": " + in_full(odd[at]) +
         " instead of " + in_full(usual[at]);
}

// What a rank tells the others of its new state.
struct RankReport {
  hash::Digest root;
  std::size_t non_finite;  // the first such tensor
};
constexpr std::size_t kAllFinite = SIZE_MAX;

[[noreturn]] void name_odd(comm::Group& group, const state::State& state,
                           const state::StateDigest& digest, std::size_t odd, std::size_t usual);

}  // namespace

void agree(comm::Group& group, const state::State& state, const state::StateDigest& digest,
           const std::vector<bool>& finite) {
  const std::size_t mine = state::first_non_finite(state, finite).value_or(kAllFinite);
  const auto reports = comm::gather(group, std::vector{RankReport{digest.root, mine}});
  std::vector<hash::Digest> roots;
  std::size_t first = kAllFinite, finite_ranks = 0;
  for (const auto& of_rank : reports) {
    roots.push_back(of_rank[0].root);
    first = std::min(first, of_rank[0].non_finite);
    finite_ranks += of_rank[0].non_finite == kAllFinite;
  }
  const bool same = std::ranges::count(roots, roots[0]) == std::ssize(roots);
  // If only some ranks have such a value they are odd, unless the digests agree (slices).
  if (first != kAllFinite && (same || finite_ranks == 0))
    throw Error(Code::kDiverged,
                "training diverged: non-finite value in " + state.tensors.at(first).name,
                "what was saved before is intact, and the same recipe fails here again: lower the "
                "learning rate, clip gradients or warm up, in a new folder");
  if (same) return;
  const std::size_t usual = majority_rank(roots);
  const auto differs = [&](const auto& root) { return root != roots[usual]; };
  const auto odd =
      static_cast<std::size_t>(std::find_if(roots.begin(), roots.end(), differs) - roots.begin());
  name_odd(group, state, digest, odd, usual);
}

namespace {

// Walks down: tensors, tiles of the first that differs, elements. All ranks walk the same way.
void name_odd(comm::Group& group, const state::State& state, const state::StateDigest& digest,
              std::size_t odd, std::size_t usual) {
  const std::string who = "rank " + std::to_string(odd) + " holds another state than rank " +
                          std::to_string(usual) + ": ";
  const char* hint = group.size() == 2
                         ? "two ranks cannot outvote each other; replay tells which is right"
                         : "that rank's machine computes wrongly";
  const auto tensors = comm::gather(group, digest.tensors);
  state::Leaves theirs = digest.leaves, reference = digest.leaves;
  for (std::size_t i = 0; i < digest.tensors.size(); ++i) {
    if (tensors[odd][i] == tensors[usual][i]) continue;
    const auto leaves = comm::gather(group, digest.leaves[i]);
    theirs[i] = leaves[odd];
    reference[i] = leaves[usual];
    const auto difference = state::first_difference(state, theirs, reference);
    const std::string where = who + difference->tensor + ", elements " +
                              std::to_string(difference->first) + " to " +
                              std::to_string(difference->last - 1);
    // A slice has one holder: the ranks received different leaf hashes of it.
    if (state.tensors[i].part) throw Error(Code::kDiffer, where, hint);
    const ops::HostView held(state.tensors[i].tensor);
    const float* const floats = held.floats().data();
    const auto tiles = comm::gather(
        group, std::vector<float>(floats + difference->first, floats + difference->last));
    throw Error(Code::kDiffer,
                where + ", of which " + values_of(tiles[odd], tiles[usual], difference->first),
                hint);
  }
  throw Error(Code::kDiffer, who + "the cursor", hint);
}

[[noreturn]] void tell_changed(const std::string& what) {
  throw Error(Code::kDiffer, "the state changed since the last step: " + what,
              "memory of this machine is not to be trusted; resume elsewhere");
}

}  // namespace

void require_same_cursor(const Training& training) {
  if (state::root(training.state, training.agreed->tensors) != training.agreed->root)
    tell_changed("the cursor");
}

void require_unchanged(const Training& training, const state::Leaves& now) {
  const auto difference = state::first_difference(training.state, now, training.agreed->leaves);
  if (difference)
    tell_changed(difference->tensor + ", elements " + std::to_string(difference->first) + " to " +
                 std::to_string(difference->last - 1));
  require_same_cursor(training);
}

}  // namespace lockstep::train
