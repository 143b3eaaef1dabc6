// A recipe: everything that is trained, in one value. Gathers the Options of every folder.
//
// Each field either changes bits (Effect::kBits: part of the recipe id) or cannot. Files are read
// by load.h and written by canonical.h; docs/recipes.md lists all keys.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lockstep/core/fields.h"
#include "lockstep/data/options.h"
#include "lockstep/lane/plan.h"
#include "lockstep/model/options.h"
#include "lockstep/monitor/options.h"
#include "lockstep/objective/options.h"
#include "lockstep/optim/options.h"

namespace lockstep::recipe {

// [run.from]: which state a run starts from that is not its seed's (`train --from`, `--weights`).
struct From {
  std::string recipe;        // of another run: its recipe id, hexadecimal
  std::int64_t step = 1;     // of that run
  std::int64_t updates = 1;  // that its optimisers had counted by then
  std::string state;         // state::commit of step 0 of this run, hexadecimal
  // Or "anew": slots at zero, updates counted from 1, so warm-up and schedule too; changes bits.
  std::string optimizer = "continue";
};

// [run]
struct Run {
  std::string name = "run";  // names the run's folder; letters, digits, '.', '_', '-'
  std::int64_t seed = 1;     // key of every random stream; changes bits
  std::int64_t steps = 1000;
  // Steps between losses on held-out samples (data.holdout); 0: none. Changes the ledger's bytes,
  // so it counts as bits.
  std::int64_t validate_every = 0;
  std::string numerics =
      "portable";  // or "native": LibTorch's kernels (ops/native.h); changes bits
  // Or "tf32" or "bfloat16": of native products (ops::Precision); changes bits.
  std::string precision = "float32";
  // Or "integer": of layers that are wide enough (numerics/integer.h); changes bits.
  std::string products = "float";
  // Or "run": from a state of another run, `from`. Or "weights": some from files; changes bits.
  std::string start = "fresh";
  From from;
};

// [model] and [model.optimizer], or one such pair a role of the objective ([generator], …).
struct NetworkOptions {
  std::string role;
  model::Options model;
  // Or "frozen": those of the run that this one starts from, never changed; no optimizer. Or
  // "imported": trained from those of a file.
  std::string weights = "trained";
  std::string root = {};  // of frozen weights, hexadecimal (train/initial_state.h fills it)
  std::string file = {};  // SHA-256 of imported weights' file; `train --weights` fills it
  optim::Options optimizer = {};
};
bool is_frozen(const NetworkOptions& network);
bool is_imported(const NetworkOptions& network);

// [samples]: pictures made on the way. Cannot change bits of the state.
struct Samples {
  std::int64_t every = 500;  // steps; 0: only at the end
  std::int64_t count = 64;   // pictures in a grid; 0: none
  std::int64_t columns = 8;
};

// [checkpoint]
struct Checkpoint {
  std::int64_t every = 500;     // steps; 0: only at the end
  std::int64_t keep_last = 2;   // newest ones kept; 0: all
  std::int64_t keep_every = 0;  // and those at multiples of this many steps; 0: none
};

// [evidence]
struct Evidence {
  std::int64_t commit_every = 100;  // steps between SHA-256 commitments in the ledger; 0: none.
                                    // Changes the ledger's bytes, so it counts as bits.
  double witness_rate = 0.01;       // share of lanes that another rank computes a second time
};

// [evaluation]: distances between samples and data in the ledger (docs/evaluation.md). Changes the
// ledger's bytes, so it counts as bits; but for the path.
struct Evaluation {
  std::int64_t every = 0;  // steps; 0: never
  std::int64_t samples = 2048;
  std::int64_t seed = 0;
  std::string features;       // a classifier's run, RUN or RUN@STEP, or its checkpoint
  std::string features_hash;  // of that classifier, hexadecimal; `train` fills it
};

struct Recipe {
  Run run;
  lane::Options batch;
  data::Options data;
  objective::Options objective;
  std::vector<NetworkOptions> networks;  // one a role of the objective, in its order
  Samples samples;
  Checkpoint checkpoint;
  Evidence evidence;
  Evaluation evaluation;
  monitor::Options monitor;
};

void describe(Fields& fields, Run& run);
void describe(Fields& fields, NetworkOptions& network);  // but for its optimizer
void describe(Fields& fields, Samples& samples);
void describe(Fields& fields, Checkpoint& checkpoint);
void describe(Fields& fields, Evidence& evidence);
void describe(Fields& fields, Evaluation& evaluation);

// All fields in canonical order. Brings `networks` in line with the objective's roles: what is
// missing gets defaults, what is not a role's is dropped.
void describe(Fields& fields, Recipe& recipe);

bool is_native(const Recipe& recipe);
bool has_integer_products(const Recipe& recipe);

// Does the run make pictures on the way, or at its end?
bool makes_pictures(const Recipe& recipe);

// Does the run start from a state that its seed does not make: is [run.from] there?
bool starts_from_state(const Recipe& recipe);

// Is that state another run's?
bool has_parent(const Recipe& recipe);

// Do its optimisers begin anew, whatever those of its parent did?
bool begins_anew(const Recipe& recipe);

// Updates that count before its step 1: the optimisers and learning rates go on from there.
std::int64_t updates_before(const Recipe& recipe);

// Phases of the objective whose networks are trained, in the order of a step.
std::vector<objective::PhaseNames> phases(const Recipe& recipe);
// Those of them that train in this step.
std::vector<objective::PhaseNames> phases(const Recipe& recipe, Step step);
// The first step in which all of them do.
Step first_of_all_phases(const Recipe& recipe);

// The options of one role; Error(kBug) if the recipe has no such role.
const NetworkOptions& network(const Recipe& recipe, const std::string& role);

}  // namespace lockstep::recipe
