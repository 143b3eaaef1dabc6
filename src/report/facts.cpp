#include "report/facts.h"

#include <algorithm>
#include <map>

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/error.h"
#include "lockstep/core/foreign.h"
#include "lockstep/core/text.h"
#include "lockstep/data/png.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/train/environment.h"
#include "lockstep/train/signing.h"

namespace lockstep::report {
namespace {

namespace stdfs = std::filesystem;

constexpr std::uint64_t kMostShown = std::uint64_t{1} << 20;  // bytes, of a text on the page

// Reads one kind of file after the other. What cannot be read is a note, never an error.
class Gatherer {
 public:
  Gatherer(FileSystem& fs, const train::RunFolder& folder, Facts& facts)
      : fs_(fs), folder_(folder), facts_(facts) {}

  void all() {
    recipe();
    ledger();
    tolerant(folder_.metrics(), [&] { read_metrics(read_lines(fs_, folder_.metrics()), facts_); });
    each(folder_.environment(), [&](const std::string& name) { environment(name); });
    for (auto& [number, node] : environments_) facts_.environments.push_back(std::move(node));
    each(folder_.checkpoints(), [&](const std::string& name) { checkpoint(name); });
    each(folder_.samples(), [&](const std::string& name) { picture(name); });
    tolerant(folder_.replays(), [&] { replays(read_lines(fs_, folder_.replays())); });
    tolerant(folder_.log(), [&] { warnings(read_lines(fs_, folder_.log())); });
  }

 private:
  template <class Body>
  void tolerant(const stdfs::path& path, Body&& body) {
    if (!fs_.exists(path)) return;
    try {
      body();
    } catch (const Error& error) {
      if (fs_.exists(path)) note(error.what());  // else retired meanwhile
    }
  }
  template <class Body>
  void each(const stdfs::path& folder, Body&& body) {
    tolerant(folder, [&] {
      for (const std::string& name : fs_.list(folder))
        if (!is_temporary(name)) tolerant(folder / name, [&] { body(name); });
    });
  }
  void note(const std::string& what) { facts_.notes.push_back(what); }

  void recipe() {
    tolerant(folder_.recipe(),
             [&] { facts_.recipe_text = read_text(fs_, folder_.recipe(), kMostShown); });
    try {
      facts_.recipe = recipe::parse_run_text(facts_.recipe_text, "recipe.toml");
    } catch (const Error&) {  // verify says what is wrong with it
    }
  }

  // As far as the chain holds: verify says where it breaks.
  void ledger() {
    tolerant(folder_.ledger(), [&] {
      const std::string text = read_lines(fs_, folder_.ledger());
      ledger::Ledger& ledger = facts_.ledger;
      for (const std::string_view line : lines_of(text)) {
        try {
          if (!facts_.ledger_begins) {
            ledger.header = ledger::parse_header(line);
            facts_.ledger_begins = true;
            continue;
          }
          ledger::Entry entry = ledger::parse_entry(line, ledger.chain());
          if (entry.step.value != static_cast<std::int64_t>(ledger.entries.size()) + 1) return;
          ledger.entries.push_back(std::move(entry));
        } catch (const Error&) {
          return;
        }
      }
    });
  }

  void environment(const std::string& name) {
    const std::string_view stem = std::string_view(name).substr(0, name.find(".json"));
    const std::size_t dash = stem.find("-rank-");
    const auto attempt = stem.starts_with("attempt-") && dash != stem.npos
                             ? parse_int(stem.substr(8, dash - 8))
                             : std::nullopt;
    const auto rank = attempt ? parse_int(stem.substr(dash + 6)) : std::nullopt;
    if (!rank) return note("environment/" + name + " is not a file of this run");
    ++facts_.attempts[*attempt].ranks;
    environments_[{*attempt, *rank}] = {
        "attempt " + std::to_string(*attempt) + ", rank " + std::to_string(*rank),
        train::read_environment(fs_, folder_.environment() / name)};
  }

  void checkpoint(const std::string& name) {
    const stdfs::path path = folder_.checkpoints() / name;
    if (const auto step = checkpoint::step_of(name)) {
      Checkpoint one;
      one.bytes = static_cast<std::int64_t>(fs_.open_read(path)->size());
      sidecar(path.string() + ".sha256", one);
      if (fs_.exists(path)) facts_.checkpoints[*step] = std::move(one);
    } else if (const auto signed_step = checkpoint::step_of_statement(name)) {
      statement(path, *signed_step, facts_.checkpoints[*signed_step]);
    }
  }

  void sidecar(const stdfs::path& path, Checkpoint& one) {
    try {
      one.root =
          checkpoint::parse_sidecar(read_lines(fs_, path), path.filename().string()).root.hex();
    } catch (const Error& error) {
      one.root_problem = error.message();
    }
  }

  void statement(const stdfs::path& path, Step step, Checkpoint& one) {
    try {
      const auto parsed =
          checkpoint::parse_statement(read_text(fs_, path), path.filename().string());
      one.key = parsed.key.hex();
      one.statement_problem = train::mismatch(parsed, facts_.ledger).value_or("");
      if (parsed.step != step) one.statement_problem = "its name does not match its step";
      if (!facts_.key.empty() && facts_.key != one.key)
        one.statement_problem = "it is signed by another key";
      if (!one.root.empty() && one.root != parsed.checkpoint.hex())
        one.statement_problem = "it is of another file";
    } catch (const Error& error) {
      one.statement_problem = error.message();
    }
  }

  void picture(const std::string& name) {
    if (!name.starts_with("step-") || !name.ends_with(".png")) return;
    const auto step = parse_int(std::string_view(name).substr(5, name.size() - 9));
    if (!step) return;
    auto& place = facts_.pictures[Step(*step)];
    Bytes png = read_file(fs_, folder_.samples() / name);
    if (data::check_png(png)) return;  // damaged
    const data::Picture pixels = data::read_png(png, name);
    place = Picture{pixels.width, pixels.height, pixels.channels, std::move(png)};
  }

  // A replay says which ledger it compared with: the chain at its last step then.
  bool of_this_ledger(const Json& replay) const {
    const Json *steps = replay.find("steps"), *chain = replay.find("chain");
    if (!steps || !steps->is_integer() || !chain || !chain->is_string()) return false;
    const Step last(steps->get<std::int64_t>());
    if (last < Step(1) || last > facts_.ledger.last()) return false;
    return chain->get<std::string>() == facts_.ledger.chain(last).hex();
  }

  void replays(const std::string& text) {
    std::int64_t unreadable = 0, others = 0;
    for (const std::string_view line : lines_of(text)) {
      auto replay = parse_json(line);
      if (!replay || !replay->is_object())
        ++unreadable;
      else if (!of_this_ledger(*replay))
        ++others;
      else
        facts_.replays.push_back(std::move(*replay));
    }
    if (others > 0)
      note("replays.jsonl: " + counted(others, "replay is", "replays are") +
           " not of this ledger, and left out");
    if (unreadable > 0)
      note("replays.jsonl: lines that cannot be read: " + std::to_string(unreadable));
  }

  // What each attempt says again, as of its recipe, stands there once.
  void warnings(const std::string& text) {
    std::vector<std::pair<std::string_view, std::int64_t>> found;  // the first, how many
    std::map<std::string_view, std::size_t> known;                 // its place, by what it says
    for (const std::string_view line : lines_of(text)) {
      const std::size_t at = line.find(" warning: ");
      if (at == line.npos || at >= 40) continue;
      const auto [said, is_new] = known.emplace(line.substr(at), found.size());
      if (is_new) found.emplace_back(line, 0);
      ++found[said->second].second;
    }
    for (const auto& [line, times] : found)
      facts_.warnings.push_back(std::string(line) +
                                (times > 1 ? " (" + std::to_string(times) + " times)" : ""));
  }

  FileSystem& fs_;
  const train::RunFolder& folder_;
  Facts& facts_;
  std::map<std::pair<std::int64_t, std::int64_t>, fingerprint::Node> environments_;
};

// If the ledger does not hold, `verify` compares nothing with it; then each checkpoint is checked
// by itself. An error that stops it becomes a finding.
audit::VerifyResult verified(FileSystem& fs, const train::RunFolder& folder,
                             const audit::VerifyOptions& options) {
  audit::VerifyResult result;
  const auto look = [&](auto&& body) {
    try {
      body();
    } catch (const Error& error) {
      result.findings.push_back({error.code(), error.what()});
    }
  };
  look([&] { result = audit::verify(folder.root, options); });
  if (!result.chain.empty() || !fs.exists(folder.checkpoints())) return result;
  std::vector<std::string> names;
  look([&] { names = fs.list(folder.checkpoints()); });
  for (const std::string& name : names) {
    if (!checkpoint::step_of(name)) continue;
    look([&] {
      const auto alone = audit::verify(folder.checkpoints() / name, {.key = options.key}).findings;
      result.findings.insert(result.findings.end(), alone.begin(), alone.end());
    });
  }
  return result;
}

// The page must not depend on how the folder was named.
void forget_root(std::string& line, const train::RunFolder& folder) {
  const std::string root = (folder.root / "").string();
  for (std::size_t at = line.find(root); at != line.npos; at = line.find(root, at))
    line.erase(at, root.size());
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Facts gather(FileSystem& fs, const train::RunFolder& folder, const audit::VerifyOptions& options) {
  train::require_run(fs, folder);
  Facts facts;
  if (options.key) facts.key = hash::read_public_key(*options.key).hex();
  facts.parent_given = !options.parents.empty();
  facts.verified = verified(fs, folder, options);
  Gatherer(fs, folder, facts).all();
  for (audit::Finding& finding : facts.verified.findings) forget_root(finding.what, folder);
  for (std::string& line : facts.notes) forget_root(line, folder);
  for (std::string& line : facts.warnings) forget_root(line, folder);
  return facts;
}

}  // namespace lockstep::report
