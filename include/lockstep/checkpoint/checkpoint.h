// A checkpoint: the whole state at one step as a canonical HDF5 file, and its sidecar.
//
//   attributes   format "lockstep checkpoint 1", recipe, data, semantics, step, samples, chain, …
//   /recipe      the recipe's canonical bit-changing text, u8: the file alone suffices to sample
//   /state/<role>/<kind>/<path>   float32 tensors, in state order
//
// Bytes are a pure function of the state and these values: the same file on every machine, at every
// world size, whether or not the run was interrupted. docs/checkpoint.md is the format's page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/checkpoint/sidecar.h"
#include "lockstep/core/file_system.h"
#include "lockstep/hdf5/reader.h"
#include "lockstep/state/state.h"

namespace lockstep::checkpoint {

struct Meta {
  hash::Digest recipe;  // recipe id
  hash::Digest data;    // content hash of the data set
  std::int64_t semantics = 0;
  hash::Digest chain;  // of the ledger's line for this step (its header's for step 0)
  hash::Digest state;  // root of the state's digest
  std::vector<std::int64_t> sample_shape;
  std::string recipe_text;  // recipe::canonical_bits
};

// "step-00000500.h5", and back (nothing for other names).
std::string file_name(Step step);
std::optional<Step> step_of(const std::string& file_name);

// Publishes <folder>/step-NNNNNNNN.h5 and .sha256, sidecar first, each durable before it has its
// name: a .h5 that is there is complete, and is the state whose digest meta names. Returns the root
// of the file's SHA-256 tree. Throws Error(kEnvironment), or Error(kDiffer) if `state` is not
// meta's any more; the folder is then as before.
hash::Digest publish(FileSystem& fs, const std::filesystem::path& folder, const Meta& meta,
                     const state::State& state);

// Copies what `into` holds out of a state that is held whole, whose names and shapes must be the
// same: Error(kCorrupt) naming the first that is missing, extra or of another shape. Sets the
// cursor.
void restore(const state::State& from, state::State& into);

// A checkpoint in memory, every byte verified before HDF5 saw any.
class Loaded {
 public:
  const Meta& meta() const { return meta_; }
  const hash::Digest& root() const { return root_; }  // of the file's SHA-256 tree
  // Tensors are views of the file's bytes: their floats may not be aligned (HostView::copy).
  // Step and samples are set.
  const state::State& state() const { return state_; }
  void restore(state::State& into) const { checkpoint::restore(state_, into); }

 private:
  friend std::optional<Loaded> load_if_there(FileSystem& fs, const std::filesystem::path& file);
  static Loaded read(FileSystem& fs, const std::filesystem::path& file);  // which is there

  Bytes image_;
  hash::Digest root_;
  Meta meta_;
  state::State state_;
};

// Throws Error(kCorrupt) in one line: what is damaged, where (bytes, tensor). Error(kUsage): the
// name is no checkpoint's, and nothing says that it is one.
Loaded load(FileSystem& fs, const std::filesystem::path& file);
// The same of a file that a run may retire at any moment, before it is read or meanwhile: nothing,
// then, and no damage.
std::optional<Loaded> load_if_there(FileSystem& fs, const std::filesystem::path& file);

}  // namespace lockstep::checkpoint
