#include "lockstep/recipe/help.h"

#include <algorithm>
#include <functional>

#include "lockstep/core/text.h"
#include "lockstep/recipe/recipe.h"
#include "writer.h"

namespace lockstep::recipe {
namespace {

struct Row {
  std::string key, range, value, doc;
  bool bits = false;
  std::vector<std::string> kinds;  // in which it exists
};

// Lists the fields of one table; with `kind`, those of that kind.
class Lister final : public Fields {
 public:
  explicit Lister(std::string kind) : kind_(std::move(kind)) {}

  void field(std::string_view name, std::int64_t& value, std::int64_t min, std::int64_t max,
             Effect effect, std::string_view doc) override {
    add(name, "integer, " + range(min, max), std::to_string(value), effect, doc);
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
  void choice(std::string_view name, std::string& value, const std::vector<std::string>& words,
              Effect effect, std::string_view doc) override {
    std::string list;
    for (const std::string& word : words) list += (list.empty() ? "" : ", ") + written(word);
    add(name, list, written(value), effect, doc);
    if (name != "kind") return;
    if (kind_.empty()) kind_ = value;
    kinds = words;
    value = kind_;
  }
  void begin(std::string_view name, std::string_view) override {
    prefix_ += std::string(name) + ".";
  }
  void end() override { prefix_.erase(prefix_.find_last_of('.', prefix_.size() - 2) + 1); }

  std::vector<Row> rows;
  std::vector<std::string> kinds;

 private:
  static std::string range(std::int64_t min, std::int64_t max) {
    return max == INT64_MAX ? std::to_string(min) + " or more"
                            : std::to_string(min) + " to " + std::to_string(max);
  }
  void add(std::string_view name, std::string range, std::string value, Effect effect,
           std::string_view doc) {
    rows.push_back({prefix_ + std::string(name),
                    std::move(range),
                    std::move(value),
                    std::string(doc),
                    effect != Effect::kNone,
                    {kind_}});
  }

  std::string kind_;
  std::string prefix_;
};

using Describe = std::function<void(Fields&)>;

// All fields of all kinds, each once.
std::vector<Row> rows_of(const Describe& describe_options, std::vector<std::string>& kinds) {
  Lister first("");
  describe_options(first);
  kinds = first.kinds;
  if (kinds.empty()) return first.rows;
  std::vector<Row> rows;
  for (const std::string& kind : kinds) {
    Lister lister(kind);
    describe_options(lister);
    for (Row& row : lister.rows) {
      const auto same =
          std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.key == row.key; });
      if (same == rows.end())
        rows.push_back(std::move(row));
      else
        same->kinds.push_back(kind);
    }
  }
  return rows;
}

std::string section(const std::string& title, const Describe& describe_options) {
  std::vector<std::string> kinds;
  std::string text = "\n## " + title + "\n\n";
  text += "| key | value | default | changes bits | meaning |\n| --- | --- | --- | --- | --- |\n";
  for (const Row& row : rows_of(describe_options, kinds)) {
    std::string only;
    if (row.kinds.size() < kinds.size())
      for (const std::string& kind : row.kinds) only += (only.empty() ? "" : ", ") + kind;
    text += "| `" + row.key + "` | " + row.range + " | `" + row.value + "` | " +
            (row.bits ? "yes" : "no") + " | " + (only.empty() ? "" : "(" + only + ") ") + row.doc +
            " |\n";
  }
  return text;
}

// A folder's options, fresh for every pass over them.
template <class Options>
void describe_fresh(Fields& f) {
  Options options;
  describe(f, options);
}

}  // namespace

std::string help_markdown() {
  std::string text =
      "# Recipes\n\n"
      "All keys of a recipe, with their defaults. A key in (brackets of a kind) exists only where "
      "the table's `kind` is that. What changes bits is part of the recipe id. [monitor] can end a "
      "run "
      "early; it cannot change what is computed until then.\n\n"
      "`extends = \"other.toml\"`, at the top of a file, takes every key that is not given from "
      "another recipe.\n";
  text += section("[run]", describe_fresh<Run>);
  text += section("[batch]", describe_fresh<lane::Options>);
  text += section("[data]", describe_fresh<data::Options>);
  text += section("[objective]", describe_fresh<objective::Options>);
  text += section("[model] (objective ddpm), [generator] and [discriminator] (gan, hinge-gan)",
                  describe_fresh<model::Options>);
  text +=
      section("[model.optimizer] and so on, one for each network", describe_fresh<optim::Options>);
  text += section("[samples]", describe_fresh<Samples>);
  text += section("[checkpoint]", describe_fresh<Checkpoint>);
  text += section("[evidence]", describe_fresh<Evidence>);
  text += section("[monitor]", describe_fresh<monitor::Options>);
  return text;
}

}  // namespace lockstep::recipe
