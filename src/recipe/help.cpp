#include "lockstep/recipe/help.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "lockstep/core/list.h"
#include "lockstep/core/text.h"
#include "lockstep/recipe/recipe.h"
#include "writer.h"

namespace lockstep::recipe {
namespace {

struct Row {
  std::string key, range, value, doc;
  bool bits = false;

  bool operator==(const Row&) const = default;  // kinds may have a key of the same name
};

struct Choice {
  std::string key;
  std::vector<std::string> words;
  std::size_t taken = 0;
};

// Lists the fields of one table, with one word of each choice: `taken` gives the words of the first
// choices, the others have their first word.
class Lister final : public Fields {
 public:
  explicit Lister(std::vector<std::size_t> taken) : taken_(std::move(taken)) {}

  void field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max,
             Effect effect, std::string_view doc) override {
    const bool has_default = value >= min && value <= max;
    add(name, "integer, " + range(min, max), has_default ? std::to_string(value) : "", effect, doc);
  }
  void field(std::string_view name, double& value, double min, double max, Effect effect,
             std::string_view doc) override {
    add(name, "float, " + written(min) + " to " + written(max), written(value), effect, doc);
  }
  void field(std::string_view name, bool& value, Effect effect, std::string_view doc) override {
    add(name, "true or false", value ? "true" : "false", effect, doc);
  }
  void field(std::string_view name, std::string& value, Effect effect,
             std::string_view doc) override {
    add(name, "string", written(value), effect, doc);
  }
  void field(std::string_view name, std::vector<std::int64_t>& value, std::int64_t min,
             std::int64_t max, Effect effect, std::string_view doc) override {
    add(name, "integers, each " + range(min, max), written(value), effect, doc);
  }
  void field(std::string_view name, std::vector<double>& value, double min, double max,
             Effect effect, std::string_view doc) override {
    add(name, "floats, each " + written(min) + " to " + written(max), written(value), effect, doc);
  }
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect effect, std::string_view doc) override {
    add(name, joined(words, ", ", [](const std::string& word) { return written(word); }),
        written(value), effect, doc);
    const std::size_t at = choices.size();
    choices.push_back({rows.back().key, words, at < taken_.size() ? taken_[at] : 0});
    value = words[choices.back().taken];
  }
  void begin(std::string_view name, std::string_view) override {
    prefix_ += std::string(name) + ".";
  }
  void end() override { prefix_.erase(prefix_.find_last_of('.', prefix_.size() - 2) + 1); }

  std::vector<Row> rows;
  std::vector<Choice> choices;

 private:
  static std::string range(std::int64_t min, std::int64_t max) {
    return max == INT64_MAX ? std::to_string(min) + " or more"
                            : std::to_string(min) + " to " + std::to_string(max);
  }
  void add(std::string_view name, std::string range, std::string value, Effect effect,
           std::string_view doc) {
    rows.push_back({prefix_ + std::string(name), std::move(range), std::move(value),
                    std::string(doc), effect == Effect::kBits || effect == Effect::kBitsAsBefore});
  }

  std::vector<std::size_t> taken_;
  std::string prefix_;
};

using Describe = std::function<void(Fields&)>;

// One pass for each combination of words. Some choices exist only for some words of another, so
// each pass shows which combination is next.
std::vector<Lister> all_passes(const Describe& describe_options) {
  std::vector<Lister> passes;
  std::vector<std::size_t> next;
  do {
    describe_options(passes.emplace_back(next));
    const std::vector<Choice>& met = passes.back().choices;
    next.clear();
    for (const Choice& choice : met) next.push_back(choice.taken);
    while (!next.empty() && next.back() + 1 == met[next.size() - 1].words.size()) next.pop_back();
    if (!next.empty()) ++next.back();
  } while (!next.empty());
  return passes;
}

bool has(const Lister& pass, const Row& row) {
  return std::ranges::find(pass.rows, row) != pass.rows.end();
}

// Each row once, in an order that is every pass's: canonical texts follow it (docs/training.md).
std::vector<Row> rows_of(const std::vector<Lister>& passes) {
  std::vector<Row> met;
  std::vector<std::set<std::size_t>> before;  // of each row those that stand before it
  for (const Lister& pass : passes) {
    std::optional<std::size_t> last;
    for (const Row& row : pass.rows) {
      const auto at = static_cast<std::size_t>(std::ranges::find(met, row) - met.begin());
      if (at == met.size()) {
        met.push_back(row);
        before.emplace_back();
      }
      if (last) before[at].insert(*last);
      last = at;
    }
  }
  std::vector<Row> rows;
  std::vector<bool> taken(met.size());
  while (rows.size() < met.size()) {
    std::size_t next = 0;
    while (taken.at(next) ||
           !std::ranges::all_of(before[next], [&](std::size_t i) { return taken[i]; }))
      ++next;
    taken[next] = true;
    rows.push_back(met[next]);
  }
  return rows;
}

// "(kind: gan, hinge-gan) ": the choices that the key depends on.
std::string condition(const std::vector<Lister>& passes, const Row& row) {
  std::vector<Choice> choices;
  std::set<std::pair<std::size_t, std::string>> with;  // choices' words that the key was met with
  for (const Lister& pass : passes) {
    for (const Choice& choice : pass.choices) {
      const auto same = [&](const Choice& other) {  // kinds may have choices of the same name
        return other.key == choice.key && std::ranges::is_permutation(other.words, choice.words);
      };
      const auto known = std::ranges::find_if(choices, same);
      const auto number = static_cast<std::size_t>(known - choices.begin());
      if (known == choices.end()) choices.push_back(choice);
      if (has(pass, row)) with.emplace(number, choice.words[choice.taken]);
    }
  }
  std::string limits;
  for (std::size_t number = 0; number < choices.size(); ++number) {
    const Choice& choice = choices[number];
    std::string words;
    std::size_t count = 0;
    for (const std::string& word : choice.words) {
      if (!with.contains({number, word})) continue;
      words += (++count == 1 ? "" : ", ") + word;
    }
    if (count > 0 && count < choice.words.size())
      limits += (limits.empty() ? "" : "; ") + choice.key + ": " + words;
  }
  return limits.empty() ? "" : "(" + limits + ") ";
}

std::string section(const std::string& title, const Describe& describe_options) {
  const std::vector<Lister> passes = all_passes(describe_options);
  std::string text = "\n## " + title + "\n\n";
  text += "| key | value | default | changes bits | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const Row& row : rows_of(passes)) {
    text += "| `" + row.key + "` | " + row.range + " | " +
            (row.value.empty() ? "must be given" : "`" + row.value + "`") + " | " +
            (row.bits ? "yes" : "no") + " | " + condition(passes, row) + row.doc + " |\n";
  }
  return text;
}

// "[model] (ddpm, flow), [generator] and [discriminator] (gan, hinge-gan)"
std::string networks_title() {
  std::vector<std::pair<std::string, std::string>> tables;  // and the objectives that have them
  for (const objective::ObjectiveKind& row : objective::objectives()) {
    std::string roles;
    for (const std::string_view role : row.roles)
      roles += (roles.empty() ? "[" : " and [") + std::string(role) + "]";
    const auto same = std::ranges::find(tables, roles, &decltype(tables)::value_type::first);
    if (same == tables.end())
      tables.emplace_back(roles, row.word);
    else
      same->second += ", " + std::string(row.word);
  }
  std::string title;
  for (const auto& [roles, words] : tables)
    title += (title.empty() ? "" : ", ") + roles + " (" + words + ")";
  return title;
}

// A folder's options, fresh for every pass over them.
template <class Options>
void describe_fresh(Fields& f) {
  Options options;
  describe(f, options);
}

}  // namespace

std::string help_markdown() {
  std::string text = R"(# Recipes

A recipe is a TOML file. A key that is left out has its default (in the tables below "must be given" marks the few
without one), so a recipe is short:

```toml
[run]
name = "first"
steps = 2000

[data]
path = "../data/train-images-idx3-ubyte.gz"

[model]
channels = [32, 64]
attention_levels = [1]

[model.optimizer]
lr = 3e-4
```

All keys follow, with their defaults. A key with a condition in brackets, such as (schedule: cosine), is allowed only
where that key of the same table has one of these words. What changes bits is part of the recipe id. A monitor can
stop a run; it never changes a result.

`extends = "other.toml"`, at the top of a file, takes every key that is not given from another recipe. If the file chooses
another `kind`, the inherited keys of the old kind are dropped. At most 64 files may extend each other in a chain.

Relative paths (`extends`, `data.path`, `data.labels`, `evaluation.features`) start at the folder of the recipe that
they stand in; that of `--set data.path=…` starts at the current folder. In a run's recipe.toml these paths are absolute, so a
run can be continued and replayed from anywhere; data that moved is given by `--set data.path=…` or `replay --data`, a
classifier by `--set evaluation.features=…` or `replay --features`.

## Your own pictures

Put the pictures of each class into a folder of its own: `pictures/cats/…`, `pictures/dogs/…`. `lockstep pack pictures
pictures.h5 --size 32` makes a data set of them and prints the number of each class: folders in byte order, from 0. Set
`data.classes` to their count. `--channels 3` makes all pictures RGB if some are grey. Without folders there are no
classes: leave out `classes`, `label_dropout` and `guidance`. `pack` also reads arrays of NumPy (`.npz`, `.npy`), CIFAR-10
and CIFAR-100; [data](data.md) says how, and what becomes of sizes, colours and broken files.

A recipe for two classes, with guidance. It takes 10 to 30 minutes on one core for 32x32 pictures in colour. (`--dry-run`
says how long a step takes at least, and `recipes/` has more.)

```toml
[run]
name = "mine"
steps = 3000
validate_every = 200  # a loss on pictures that it does not learn from

[batch]
lanes = 8
samples_per_lane = 2

[data]
path = "pictures.h5"
classes = 2
flip = true
holdout = 50

[objective]
kind = "flow"
label_dropout = 0.1
guidance = 2.0

[model]
kind = "unet"
channels = [16, 32, 64]
blocks = 1
attention_levels = [2]
embedding = 64

[model.optimizer]
lr = 1.5e-3
warmup = 100
schedule = "cosine"
horizon = 3000
clip_norm = 1.0
ema_decay = 0.99

[samples]
every = 500

[monitor]
warn_spike = 20.0
```

`lockstep train mine.toml`, then `lockstep sample runs/mine --class dogs --out dogs.png`. A diffusion model's loss that stays
near its first value means that the network has learnt nothing: lower the learning rate. Trained without warm-up, clipping and
an average (`ema_decay`) it makes worse pictures. Set all three: they are off by default.

An average begins as a copy of the first weights. After n steps it still has ema_decay^n of them, so 1 / (1 - ema_decay)
should be far below `run.steps`: 0.99 for some thousand steps, 0.9999 for hundreds of thousands. With `ema_warmup = true`
it forgets the first weights sooner. The held-out loss uses the averaged weights, so it falls later than the training loss.
Batch norm's running statistics are not averaged: pictures of averaged weights are made with those of the trained ones.

Schedules count updates from 1. With `horizon` = `run.steps`, as here, the last update has the rate 0; PyTorch's schedulers
reach each rate one update later.

**GANs.** The optimisers' defaults are those of diffusion models. Papers on GANs take other ones, for both networks: DCGAN
(`gan`) `lr = 2e-4`, `beta1 = 0.5`; WGAN-GP (`wasserstein-gan`) `lr = 1e-4`, `beta1 = 0.0`, `beta2 = 0.9`,
`discriminator_steps = 5` and a critic with `norm = "none"`; SNGAN (`hinge-gan`) `lr = 2e-4`, `beta1 = 0.0`, `beta2 = 0.9`,
`discriminator_steps = 5`. `recipes/` has one of each that trains on Fashion-MNIST, with rates chosen for its few steps.

**Lanes.** `batch.lanes` is part of the recipe id, so choose it once. It is the largest number of ranks that a run of this
recipe can ever have. A power of two fits best. More lanes than ranks cost little on CPUs. With native numerics on a GPU
take as few lanes as you will have GPUs.

A data set is what `lockstep pack` made, a file or, for data larger than memory, [a folder of
shards](data.md#data-in-shards); or one IDX file, the format of MNIST, plain or gzipped; or a folder that holds one named
`train-images-idx3-ubyte` (`.gz`). A pack is read fastest. An IDX file begins with the bytes 0, 0, 8 and the
number of dimensions. Then comes each size as a big-endian 32-bit integer, then one byte a value. Sizes are [pictures,
height, width] for grey pictures and [pictures, height, width, 3] for colour.

Labels are read if `data.classes` says how many classes there are. They are an IDX file of one dimension: one byte a
picture, from 0 to one less than the classes. The file stands beside the pictures: its name has `labels-idx1` where
theirs has `images-idx3` or `images-idx4`. `data.labels` names another one. A packed file holds the labels that
`lockstep pack` found. `replay --data` takes the file that `data.labels` names, if it is still there, or else the
labels that lie with the data. NumPy saves pictures and labels for `lockstep pack mine.npz mine.h5`:

```python
import numpy
pictures = numpy.zeros((1000, 32, 32, 3), numpy.uint8)  # yours
labels = numpy.zeros(1000, int)  # yours, 0 to 9
numpy.savez("mine.npz", images=pictures, labels=labels)
```

An array of floats makes fields or signals, which are trained as they are, with `kind = "fields"` or `kind = "signals"` in
[data]: [data](data.md#fields-and-signals).
)";
  text += section("[run]", describe_fresh<Run>);
  text += section("[batch]", describe_fresh<lane::Options>);
  text += section("[data]", describe_fresh<data::Options>);
  text += section("[objective]", describe_fresh<objective::Options>);
  text += section(networks_title(), describe_fresh<NetworkOptions>);
  text +=
      section("[model.optimizer] and so on, one for each network", describe_fresh<optim::Options>);
  text += section("[samples]", describe_fresh<Samples>);
  text += section("[checkpoint]", describe_fresh<Checkpoint>);
  text += section("[evidence]", describe_fresh<Evidence>);
  text += section("[evaluation]", describe_fresh<Evaluation>);
  text += section("[monitor]", describe_fresh<monitor::Options>);
  return text;
}

}  // namespace lockstep::recipe
