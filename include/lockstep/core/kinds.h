// A choice among the kinds of a table, each with options of its own.
//
// A folder that offers kinds (optimisers, schedules, …) has one table of rows. A row is a struct
// with at least
//   std::string_view word, meaning;                  the word in a recipe, and what it stands for
//   std::unique_ptr<KindOptions> (*options)();       with their defaults
// and whatever else is known of a kind: how it is made, what it needs. Choices, hints and help come
// from the rows; a kind's options, its code and their test are its own files.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/core/fields.h"

namespace lockstep {

// What one kind is told.
class KindOptions {
 public:
  virtual ~KindOptions() = default;
  virtual void describe(Fields& fields) = 0;
  virtual std::unique_ptr<KindOptions> copy() const = 0;
};

// Finds  void describe(Fields&, Options&)  in the folder of the options.
template <class Options>
void describe_options(Fields& fields, Options& options) {
  describe(fields, options);
}

// A struct that is described, inline in its header: recipes are read without what is made of them.
template <class Options>
class OptionsOf final : public KindOptions {
 public:
  void describe(Fields& fields) override { describe_options(fields, options); }
  std::unique_ptr<KindOptions> copy() const override { return std::make_unique<OptionsOf>(*this); }
  static std::unique_ptr<KindOptions> make() { return std::make_unique<OptionsOf>(); }

  Options options;
};

// Of a kind that is told nothing.
struct NoOptions {};
inline void describe(Fields&, NoOptions&) {}

// "adamw, sgd or lion"
std::string listed(const std::vector<std::string>& words);

template <class Row>
class Kind {
 public:
  // The first row's.
  explicit Kind(std::span<const Row> rows) : rows_(rows), word_(rows.front().word) {}
  Kind(const Kind& other) : rows_(other.rows_), word_(other.word_) {
    for (const auto& [word, options] : other.options_) options_[word] = options->copy();
  }
  Kind& operator=(const Kind& other) {
    Kind copy(other);
    std::swap(*this, copy);
    return *this;
  }
  Kind(Kind&&) = default;
  Kind& operator=(Kind&&) = default;
  // Another kind of the table. Not checked here: a row() that is not there says so.
  Kind& operator=(std::string_view word) {
    word_ = word;
    return *this;
  }
  bool operator==(std::string_view word) const { return word_ == word; }
  bool operator==(const Kind& other) const { return word_ == other.word_; }
  const std::string& word() const { return word_; }
  std::span<const Row> rows() const { return rows_; }

  // Error(kUsage) if the table has no such word.
  const Row& row(const char* field) const {
    for (const Row& row : rows_)
      if (row.word == word_) return row;
    throw Error(Code::kUsage, std::string(field) + ": there is no '" + word_ + "'",
                "use " + listed(words()));
  }
  // The kind's own options; Options must be those of the row.
  template <class Options>
  Options& as() {
    return dynamic_cast<OptionsOf<Options>&>(own()).options;
  }
  // Changes nothing, so threads may share a constant one: where nobody asked before, the defaults.
  template <class Options>
  const Options& as() const {
    static const Options defaults;
    const auto known = options_.find(word_);
    if (known == options_.end()) return defaults;
    return dynamic_cast<const OptionsOf<Options>&>(*known->second).options;
  }

  // Reads the word. `doc` is one phrase; the words' meanings are added to it.
  void choose(Fields& fields, std::string_view name, Effect effect, std::string_view doc) {
    std::string meanings;
    for (const Row& row : rows_)
      meanings +=
          (meanings.empty() ? "" : "; ") + std::string(row.word) + ": " + std::string(row.meaning);
    fields.choice(name, word_, words(), effect, std::string(doc) + " (" + meanings + ")");
  }
  // Reads the options of the word that was chosen.
  void describe(Fields& fields) { own().describe(fields); }

 private:
  std::vector<std::string> words() const {
    std::vector<std::string> all;
    for (const Row& row : rows_) all.emplace_back(row.word);
    return all;
  }
  KindOptions& own() {
    std::unique_ptr<KindOptions>& options = options_[word_];
    if (!options) options = row("kind").options();
    return *options;
  }

  std::span<const Row> rows_;
  std::string word_;
  std::map<std::string, std::unique_ptr<KindOptions>> options_;  // of words that were asked for
};

}  // namespace lockstep
