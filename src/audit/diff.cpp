#include "lockstep/audit/diff.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "lockstep/audit/trace.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/list.h"
#include "lockstep/data/png.h"
#include "lockstep/hash/sha256.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/environment.h"
#include "lockstep/train/file_kind.h"
#include "lockstep/train/open_run.h"
#include "lockstep/train/run_folder.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;

std::vector<FactDifference> of_recipes(const recipe::Recipe& a, const recipe::Recipe& b) {
  auto result =
      differences(recipe::keys_of(recipe::canonical(a)), recipe::keys_of(recipe::canonical(b)));
  const auto bits = differences(recipe::keys_of(recipe::canonical_bits(a)),
                                recipe::keys_of(recipe::canonical_bits(b)));
  for (FactDifference& one : result)
    one.bits = std::ranges::find(bits, one.name, &FactDifference::name) != bits.end();
  return result;
}

// A PNG's chunks by what they are, "gAMA" or "tEXt step"; several of a name as one.
Facts chunks_of(const Bytes& png, const std::string& file) {
  std::map<std::string, std::string> contents;
  for (const auto& [type, data] : data::png_chunks(png, file)) {
    const std::string_view content(reinterpret_cast<const char*>(data.data()), data.size());
    const std::size_t key = type == "tEXt" ? std::min(content.find('\0'), content.size()) : 0;
    std::string& known =
        contents[key == 0 ? type : type + " " + std::string(content.substr(0, key))];
    if (!known.empty()) known += '\n';
    known += key == 0 ? content : content.substr(std::min(key + 1, content.size()));
  }
  Facts facts;
  for (const auto& [name, content] : contents)
    facts.emplace_back(name, name.starts_with("tEXt ")
                                 ? content
                                 : counted(content.size(), "byte") + ", sha256 " +
                                       hash::sha256(as_bytes(content)).hex());
  return facts;
}

class Diff {
 public:
  Diff(const stdfs::path& a, const stdfs::path& b) : a_(a), b_(b) {}

  DiffResult run() {
    if (both([](const stdfs::path& p) { return stdfs::is_directory(p); }))
      runs();
    else if (both([](const stdfs::path& p) {
               return p.extension() == ".h5" || train::kind_of(p) == train::FileKind::kCheckpoint;
             }))
      checkpoints();
    else if (both_end(".png"))
      pictures();
    else if (both_end(".toml"))
      recipes();
    else if (both_end(".jsonl"))
      ledger_files();
    else if (both_end(".json"))
      fingerprints();
    else
      throw Error(Code::kCannotCompare,
                  a_.string() + " and " + b_.string() + " are not two of a kind",
                  "give two run folders, ledgers (.jsonl), checkpoints (.h5 or RUN@STEP), pictures "
                  "(.png), recipes (.toml) or fingerprints (.json)");
    return std::move(result_);
  }

 private:
  template <class Test>
  bool both(Test&& test) const {
    return test(a_) && test(b_);
  }
  bool both_end(const char* extension) const {
    return both([&](const stdfs::path& p) { return p.extension() == extension; });
  }

  void runs() {
    result_.kind = "runs";
    const train::RunFolder a{a_}, b{b_};
    result_.recipe = of_recipes(recipe::of_run(fs_, a_), recipe::of_run(fs_, b_));
    result_.environment =
        differences(train::newest_environment(fs_, a), train::newest_environment(fs_, b));
    ledgers(a.ledger(), b.ledger(), "runs");
    common_checkpoints(a, b);
    require_something();
  }

  void ledger_files() {
    for (const stdfs::path& path : {a_, b_})
      if (is_trace(path))
        throw Error(Code::kCannotCompare, path.string() + " is a trace",
                    "`lockstep bisect` compares traces");
    ledgers(a_, b_, "ledgers");
    require_something();
  }

  // Ledgers that begin alike and have no step in common are not the same: nothing was compared.
  void require_something() const {
    if (!result_.ledger && result_.steps == 0 && result_.checkpoints.empty())
      throw Error(Code::kCannotCompare,
                  "no step is in both ledgers: one of them ends before step 1", "train it further");
  }

  void ledgers(const stdfs::path& a, const stdfs::path& b, const char* kind) {
    result_.kind = kind;
    const auto mine = ledger::read(fs_, a, ledger::TornTail::kDrop),
               theirs = ledger::read(fs_, b, ledger::TornTail::kDrop);
    result_.steps = static_cast<std::int64_t>(std::min(mine.entries.size(), theirs.entries.size()));
    result_.ledger = ledger::first_difference(mine, theirs);
    if (!result_.ledger || result_.ledger->step > Step(0)) return;
    result_.headings = differences(heads_of(mine.header), heads_of(theirs.header));
    for (std::size_t i = 0; !result_.losses && i < static_cast<std::size_t>(result_.steps); ++i)
      if (mine.entries[i].losses != theirs.entries[i].losses) result_.losses = mine.entries[i].step;
  }

  static Facts heads_of(const ledger::Header& header) {
    return {{"ledger's recipe", header.recipe.hex()},
            {"ledger's semantics", std::to_string(header.semantics)},
            {"ledger's data", header.data.hex()}};
  }

  // The ledger has one hash a step; only checkpoints can tell which tensors differ.
  void common_checkpoints(const train::RunFolder& a, const train::RunFolder& b) {
    const std::vector<Step> mine = checkpoint::list(fs_, a.checkpoints()),
                            theirs = checkpoint::list(fs_, b.checkpoints());
    std::set<std::string> known;
    for (const Step step : mine) {
      if (!std::ranges::binary_search(theirs, step)) continue;
      if (result_.ledger && step < result_.ledger->step) continue;
      const std::string name = checkpoint::file_name(step);
      const auto ours = checkpoint::load_if_there(fs_, a.checkpoints() / name),
                 other = checkpoint::load_if_there(fs_, b.checkpoints() / name);
      if (!ours || !other) continue;  // a run that trains meanwhile retired it
      result_.checkpoints.push_back(step);
      // Of runs of one recipe and data; others differ in more.
      if (!result_.ledger || result_.ledger->step > Step(0)) {
        for (auto difference : differences(claims(ours->meta()), claims(other->meta()))) {
          difference.name = name + " " + difference.name;
          result_.headings.push_back(std::move(difference));
        }
      }
      result_.tensors_compared = tensors_of(ours->state(), other->state());
      for (auto& difference : state::compare(ours->state(), other->state()))
        if (known.insert(difference.tensor).second)
          result_.tensors.push_back({step, std::move(difference)});
      if (known.size() >= ours->state().tensors.size()) return;  // none is left to differ
    }
  }

  // Of both together.
  static std::int64_t tensors_of(const state::State& a, const state::State& b) {
    std::set<std::string> names;
    for (const state::State* state : {&a, &b})
      for (const state::Named& named : state->tensors) names.insert(named.name);
    return static_cast<std::int64_t>(names.size());
  }

  // What a checkpoint says beyond the digests of a ledger's line.
  static Facts claims(const checkpoint::Meta& meta) {
    return {{"semantics", std::to_string(meta.semantics)},
            {"sample_shape", shape_text(meta.sample_shape)},
            {"recipe's text", hash::sha256(as_bytes(meta.recipe_text)).hex()}};
  }

  void checkpoints() {
    result_.kind = "checkpoints";
    const auto mine = checkpoint::load(fs_, a_), theirs = checkpoint::load(fs_, b_);
    const auto facts = [](const checkpoint::Loaded& loaded) -> Facts {
      Facts list = {{"step", std::to_string(loaded.state().step.value)},
                    {"samples", std::to_string(loaded.state().samples)},
                    {"data", loaded.meta().data.hex()},
                    {"recipe", loaded.meta().recipe.hex()},
                    {"chain", loaded.meta().chain.hex()},
                    {"state", loaded.meta().state.hex()}};
      std::ranges::copy(claims(loaded.meta()), std::back_inserter(list));
      return list;
    };
    result_.headings = differences(facts(mine), facts(theirs));
    result_.recipe = differences(recipe::keys_of(mine.meta().recipe_text),
                                 recipe::keys_of(theirs.meta().recipe_text));
    result_.checkpoints.push_back(mine.state().step);
    result_.tensors_compared = tensors_of(mine.state(), theirs.state());
    for (auto& difference : state::compare(mine.state(), theirs.state()))
      result_.tensors.push_back({mine.state().step, std::move(difference)});
  }

  void pictures() {
    result_.kind = "pictures";
    const Bytes a = read_file(fs_, a_), b = read_file(fs_, b_);
    const auto mine = data::read_png(a, a_.string()), theirs = data::read_png(b, b_.string());
    const auto facts = [](const data::Picture& picture) -> Facts {
      return {{"width", std::to_string(picture.width)},
              {"height", std::to_string(picture.height)},
              {"channels", std::to_string(picture.channels)}};
    };
    result_.headings = differences(facts(mine), facts(theirs));
    const auto chunks = differences(chunks_of(a, a_.string()), chunks_of(b, b_.string()));
    // If the pixels differ, the chunks that hold them need not be named.
    const bool same = mine == theirs;
    std::ranges::copy_if(chunks, std::back_inserter(result_.headings), [&](const auto& one) {
      return same || (one.name != "IHDR" && one.name != "IDAT");
    });
    if (mine.width != theirs.width || mine.height != theirs.height ||
        mine.channels != theirs.channels)
      return;
    PictureDifference& pixels = result_.picture.emplace();
    pixels.pixels = static_cast<std::int64_t>(mine.pixels.size());
    for (std::size_t i = 0; i < mine.pixels.size(); ++i) {
      const int distance = std::abs(int{mine.pixels[i]} - int{theirs.pixels[i]});
      pixels.different += distance > 0 ? 1 : 0;
      pixels.largest = std::max(pixels.largest, distance);
    }
  }

  void recipes() {
    result_.kind = "recipes";
    result_.recipe = of_recipes(recipe::load_any(a_), recipe::load_any(b_));
  }

  void fingerprints() {
    result_.kind = "fingerprints";
    result_.environment =
        differences(train::read_environment(fs_, a_), train::read_environment(fs_, b_));
  }

  FileSystem& fs_ = real_file_system();
  const stdfs::path a_, b_;
  DiffResult result_;
};

}  // namespace

std::vector<FactDifference> differences(const Facts& a, const Facts& b) {
  std::vector<FactDifference> result;
  for (const auto& [name, value] : a)
    if (const std::string theirs = fingerprint::fact(b, name); theirs != value)
      result.push_back({name, value, theirs, true});
  for (const auto& [name, value] : b)
    if (std::ranges::find(a, name, &Facts::value_type::first) == a.end())
      result.push_back({name, "", value, true});
  return result;
}

bool DiffResult::same() const {
  const auto bits = [](const FactDifference& one) { return one.bits; };
  return std::ranges::none_of(recipe, bits) && !ledger && tensors.empty() && headings.empty() &&
         (!picture || picture->different == 0) && (kind != "fingerprints" || environment.empty());
}

namespace {

stdfs::path there(const std::string& source) {
  const stdfs::path file = train::file_of(source);
  if (stdfs::exists(file)) return file;
  throw Error(Code::kCannotCompare, "there is no " + source,
              "give two run folders, ledgers, checkpoints, pictures, recipes or fingerprints");
}

}  // namespace

DiffResult diff(const std::string& a, const std::string& b) {
  try {
    return Diff(there(a), there(b)).run();
  } catch (const Error& error) {
    throw Error(Code::kCannotCompare, error.message(), error.hint());
  } catch (const stdfs::filesystem_error& error) {
    throw Error(Code::kCannotCompare, error.what());
  }
}

}  // namespace lockstep::audit
