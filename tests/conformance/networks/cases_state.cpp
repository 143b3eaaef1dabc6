// What a state's digest and commit are made of.

#include "conformance/networks/tensors.h"
#include "lockstep/state/state.h"

namespace lockstep::conformance {
namespace {

struct Made {
  const char* name;
  Shape shape;
};

void add_digest(Json& cases, const char* what, std::int64_t step, std::int64_t samples,
                const std::vector<Made>& tensors) {
  Case c(cases, "state_digest", what);
  state::State state;
  state.step = Step(c.parameter("step", step));
  state.samples = c.parameter("samples", samples);
  for (const Made& t : tensors) {
    state.tensors.push_back({t.name, input(c, t.name, Make::kWide, t.shape)});
  }
  const state::StateDigest digest = state::digest(state);
  c.output("tensors", digest.tensors);
  c.output("state", std::vector<hash::Digest>{digest.root});
  c.output("commit", std::vector<hash::Digest>{state::commit(state)});
}

}  // namespace

void add_state_cases(Json& cases) {
  add_digest(cases, "no tensors", 0, 0, {});
  add_digest(cases, "one value", 1, 8, {{"model/param/a.weight", {1}}});
  add_digest(cases, "one tensor, empty", 1, 8, {{"model/param/a.weight", {0}}});
  // A last tile that is full, one of a value; more than a block of the commit's trees.
  add_digest(cases, "five tensors", 1000, (std::int64_t{1} << 40) + 3,
             {{"generator/param/a.weight", {64, 64}},
              {"generator/param/a.bias", {4097}},
              {"generator/buffer/n.running_mean", {2, 3, 5}},
              {"generator/m/a.weight", {5, 64, 256}},
              {"discriminator/param/a.weight", {3, 1, 2, 7}}});
}

}  // namespace lockstep::conformance
