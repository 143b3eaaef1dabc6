#include "lockstep/audit/verify.h"

#include <algorithm>
#include <iterator>

#include "audit/classifier_claims.h"
#include "audit/findings.h"
#include "audit/ledger_claims.h"
#include "audit/picture_claims.h"
#include "lockstep/checkpoint/store.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "lockstep/data/png.h"
#include "lockstep/data/shards.h"
#include "lockstep/hash/key_file.h"
#include "lockstep/ledger/ledger.h"
#include "lockstep/recipe/canonical.h"
#include "lockstep/recipe/load.h"
#include "lockstep/train/claims.h"
#include "lockstep/train/initial_state.h"
#include "lockstep/train/run_folder.h"
#include "lockstep/train/sample_archive.h"
#include "lockstep/train/signing.h"

namespace lockstep::audit {
namespace {

namespace stdfs = std::filesystem;

class Verifier : public Findings {
 public:
  Verifier(FileSystem& fs, const std::optional<hash::Digest>& kept,
           const std::optional<hash::PublicKey>& key, const std::optional<std::string>& data)
      : Findings(fs), kept_(kept), key_(key), data_(data) {}

  void run_folder(const train::RunFolder& folder) {
    folder_ = folder.root;
    // Listed before the ledger is read: so a ledger that still grows has all their steps.
    const Names checkpoints_now = names_in(folder.checkpoints()),
                samples_now = names_in(folder.samples());
    const auto ledger = attempt([&] {
      require(folder.ledger());
      return ledger::read(fs_, folder.ledger());
    });
    recipe_ = attempt([&] {
      require(folder.recipe());
      return recipe::of_run(fs_, folder.root);
    });
    if (recipe_) result.recipe = recipe::id(*recipe_).hex();
    if (!ledger) return;
    if (recipe_ && data_) shape(*recipe_, ledger->header.data);  // an error of its own
    result.steps = ledger->last().value;
    result.chain = ledger->chain().hex();
    if (recipe_) of_recipe(folder, *ledger);
    for (const stdfs::path& part : {folder.checkpoints(), folder.samples()}) require_folder(part);
    if (const stdfs::path data = folder.root / data::kShardsIndex; fs_.exists(data)) foreign(data);
    check_head(folder, *ledger, kept_, result);
    check_states(folder, *ledger, result);
    statements(folder, checkpoints_now, *ledger);
    checkpoints(folder, checkpoints_now, *ledger);
    if (recipe_) begins(folder, *ledger);
    pictures(folder, samples_now, *ledger);
    if (recipe_) check_classifier(fs_, folder, *recipe_, result);
    if (recipe_) note_end(checkpoints_now, recipe_->run.steps);
    if (!statements_.empty() && !key_)
      result.notes.push_back("checkpoints are signed: --key compares that with a public key");
  }

  // Where the run starts from another one's state: its parent, that one's parent, and so on.
  void follow(const std::vector<stdfs::path>& parents) {
    if (recipe_)
      for (const recipe::NetworkOptions& one : recipe_->networks)
        if (recipe::is_imported(one))
          result.notes.push_back(one.role + " starts with the weights of a file, SHA-256 " +
                                 one.file.substr(0, 12) + ", which is not looked at");
    if (!recipe_ || !recipe::has_parent(*recipe_)) {
      if (!parents.empty())
        result.notes.push_back(parents.front().string() +
                               " is ignored: the run before it starts from no other run");
      return;
    }
    if (parents.empty()) {
      const recipe::From& from = recipe_->run.from;
      result.notes.push_back("the run starts from step " + std::to_string(from.step) +
                             " of recipe " + from.recipe.substr(0, 12) +
                             ", which is not checked (--parent)");
      return;
    }
    if (key_)
      result.notes.push_back(parents.front().string() + ": its signatures are not looked at");
    Verifier parent(fs_, std::nullopt, std::nullopt, std::nullopt);
    parent.run_folder({parents.front()});
    for (std::string& note : parent.result.notes) note = parents.front().string() + ": " + note;
    if (parent.recipe_) {  // otherwise it is among the findings
      attempt([&] {
        recipe::Recipe recipe = *recipe_;
        if (data_) data::move_to(recipe.data, *data_);
        result.notes.push_back(train::compare_parent(parents.front(), recipe, folder_));
        return true;
      });
    }
    parent.follow({parents.begin() + 1, parents.end()});
    std::ranges::move(parent.result.findings, std::back_inserter(result.findings));
    std::ranges::move(parent.result.notes, std::back_inserter(result.notes));
  }

  void lone_checkpoint(const stdfs::path& file) {
    if (const stdfs::path signature = file.string() + ".sig"; fs_.exists(signature))
      if (const auto parsed = statement(signature, named_step(file))) accept(*parsed);
    checkpoint_file(file, nullptr);
  }

  void checkpoint_file(const stdfs::path& file, const ledger::Ledger* ledger) {
    const auto found = attempt([&]() -> std::optional<checkpoint::Loaded> {
      if (ledger) return checkpoint::load_if_there(fs_, file);
      return checkpoint::load(fs_, file);
    });
    if (!found) return;
    const std::optional<checkpoint::Loaded>& loaded = *found;
    if (!loaded) {
      result.notes.push_back(file.string() + " was removed meanwhile and is not checked");
      return;
    }
    ++result.checkpoints;
    const checkpoint::Meta& meta = loaded->meta();
    const state::State& state = loaded->state();
    saved_shape_ = meta.sample_shape;
    if (result.recipe.empty()) result.recipe = meta.recipe.hex();
    if (state::digest(state).root != meta.state)
      differ(file.string() + ": its tensors are not the state that it names");
    if (const auto what = ledger ? train::semantics_mismatch(meta, ledger->header) : std::nullopt)
      return differ(file.string() + ": " + *what);
    const auto recipe = attempt([&] { return train::recipe_in(meta, file.string()); });
    if (!recipe) return;
    if (!named_step(file))
      result.notes.push_back(file.string() + ": it is of step " + std::to_string(state.step.value));
    else if (*named_step(file) != state.step)
      differ(file.string() + ": its name does not match its step, " +
             std::to_string(state.step.value));
    claims(file, *loaded, ledger ? ledger->header : train::header_of(*recipe, meta.data), *recipe);
    attempt([&] {
      against_statement(file, *loaded);
      return true;
    });
    if (ledger) return against_ledger(file, *loaded, *ledger);
    if (kept_ && *kept_ != meta.chain)
      corrupt(file.string() + ": its chain is not " + kept_->brief());
    else if (kept_)
      result.notes.push_back(file.string() +
                             ": it names that chain itself, and the ledger, which "
                             "ties tensors to it, is not looked at (verify its run)");
  }

 private:
  // A statement that is whole, under its step's name and by the key, if there is one.
  std::optional<checkpoint::Statement> statement(const stdfs::path& path, std::optional<Step> is) {
    const auto parsed = attempt([&]() -> std::optional<checkpoint::Statement> {
                          try {
                            return checkpoint::parse_statement(read_text(fs_, path), path.string());
                          } catch (const Error&) {
                            if (fs_.exists(path)) throw;
                            return std::nullopt;  // retired meanwhile
                          }
                        }).value_or(std::nullopt);
    if (!parsed) return std::nullopt;
    std::string what;
    if (is.value_or(parsed->step) != parsed->step)
      what = "its name does not match its step, " + std::to_string(parsed->step.value);
    if (key_ && parsed->key != *key_) what = "it is signed by another key";
    if (what.empty()) return parsed;
    differ(path.string() + ": " + what);
    return std::nullopt;
  }

  void accept(const checkpoint::Statement& accepted) {
    statements_[accepted.step] = accepted;
    if (key_) result.signed_to = std::max(result.signed_to.value_or(accepted.step), accepted.step);
  }

  void statements(const train::RunFolder& folder, const Names& names,
                  const ledger::Ledger& ledger) {
    const std::size_t before = result.findings.size();
    for (const std::string& name : names) {
      const auto step = checkpoint::step_of_statement(name);
      if (!step || !is_file(folder.checkpoints() / name)) continue;
      const auto parsed = statement(folder.checkpoints() / name, *step);
      if (!parsed) continue;
      if (const auto what = train::mismatch(*parsed, ledger))
        differ((folder.checkpoints() / name).string() + ": " + *what);
      else
        accept(*parsed);
    }
    if (result.findings.size() > before) return;  // what is damaged is missing below
    for (const Step step : checkpoint::orphans(statements_))
      corrupt((folder.checkpoints() / checkpoint::statement_name(step)).string() +
              ": the statement that it names as its parent is missing");
  }

  void against_statement(const stdfs::path& file, const checkpoint::Loaded& loaded) {
    const stdfs::path signature = file.string() + ".sig";
    const auto named = named_step(file);  // of a copy it need not be: then there is one
    if (const auto found = named ? statements_.find(*named) : statements_.begin();
        found != statements_.end()) {
      if (const auto what = train::mismatch(found->second, loaded))
        differ(signature.string() + ": " + *what);
    } else if (key_ && !fs_.exists(signature) && fs_.exists(file)) {
      not_signed(file, signature);
    }
  }

  void checkpoints(const train::RunFolder& folder, const Names& names,
                   const ledger::Ledger& ledger) {
    const stdfs::path start = folder.checkpoints() / checkpoint::file_name(Step(0));
    if (recipe_ && recipe::starts_from_state(*recipe_) && !ledger.entries.empty() &&
        !fs_.exists(start))
      corrupt(start.string() + " is missing: the state that this run starts from");
    for (const std::string& name : files_of(folder.checkpoints(), names)) {
      const stdfs::path path = folder.checkpoints() / name;
      std::error_code gone;
      const bool marker =
          checkpoint::step_of_marker(name) && (stdfs::file_size(path, gone) == 0 || gone);
      if (checkpoint::step_of(name)) {
        checkpoint_file(path, &ledger);
      } else if (!checkpoint::step_of_sidecar(name) && !marker &&
                 !checkpoint::step_of_statement(name)) {
        // A kill between two renames leaves a sidecar or marker alone; retention leaves a statement
        // alone.
        foreign(path);
      }
    }
  }

  void begins(const train::RunFolder& folder, const ledger::Ledger& ledger) {
    if (!saved_shape_)  // with --data it was looked for
      saved_shape_ = shape_ ? *shape_ : train::shape_at_hand(*recipe_, ledger.header.data);
    check_start(folder, ledger, *recipe_, saved_shape_, result);
  }

  // The recipe and ledger beside it.
  void of_recipe(const train::RunFolder& folder, const ledger::Ledger& ledger) {
    const ledger::Header& header = ledger.header;
    const std::string file = folder.ledger().string();
    if (recipe::id(*recipe_) != header.recipe)
      differ(file + ": it is the ledger of another recipe than recipe.toml");
    else if (header != train::header_of(*recipe_, header.data))
      differ(file + ":1: it does not follow from recipe.toml");
    else if (const auto what = train::mismatch(ledger, *recipe_))
      differ(file + ": it does not follow from recipe.toml: " + *what);
  }

  // What a checkpoint says that does not follow from recipe, ledger and data.
  void claims(const stdfs::path& file, const checkpoint::Loaded& loaded,
              const ledger::Header& header, const recipe::Recipe& in_file) {
    const recipe::Recipe& recipe = recipe_ ? *recipe_ : in_file;
    if (loaded.meta().recipe != recipe::id(recipe)) return;  // which the ledger's part reports
    if (const auto what =
            train::mismatch(loaded.meta(), recipe, header, shape(recipe, header.data)))
      differ(file.string() + ": " + *what);
    if (loaded.state().step != Step(0)) return;
    attempt([&] {
      if (const auto what = train::not_the_start(loaded, recipe))
        differ(file.string() + ": " + *what);
      else
        result.notes.push_back(file.string() +
                               (recipe::starts_from_state(recipe)
                                    ? ": it has the SHA-256 tree that the recipe names"
                                    : ": recomputed: recipe and seed make it"));
      return true;
    });
  }

  const std::optional<train::Shape>& shape(recipe::Recipe recipe, const hash::Digest& data) {
    if (shape_) return *shape_;
    if (data_) data::move_to(recipe.data, *data_);
    std::optional<train::Shape> found;
    try {
      found = train::shape_of_data(recipe, data);
    } catch (const Error& error) {
      if (data_ && error.code() == Code::kData)
        throw Error(error.code(), error.message(), "give the run's own data by --data");
      if (data_) throw;
      result.notes.push_back((recipe_ ? error.message() : "nobody says where the data set is") +
                             ": the shape of samples in checkpoints is not compared (--data)");
    }
    return shape_.emplace(std::move(found));  // opened once
  }

  void against_ledger(const stdfs::path& file, const checkpoint::Loaded& loaded,
                      const ledger::Ledger& ledger) {
    const checkpoint::Meta& meta = loaded.meta();
    const Step step = loaded.state().step;
    const std::string n = std::to_string(step.value);
    if (meta.recipe != ledger.header.recipe)
      return differ(file.string() + ": it is a checkpoint of another recipe");
    if (meta.data != ledger.header.data)
      return differ(file.string() + ": it was trained on other data than the ledger says");
    if (step > ledger.last())
      return corrupt("ledger.jsonl ends at step " + std::to_string(ledger.last().value) + ", but " +
                     file.string() + " is of step " + n + ": the ledger was cut");
    if (meta.chain != ledger.chain(step))
      differ(file.string() + ": its ledger is another one: the chains at step " + n + " differ");
    if (step == Step(0)) {
      if (!ledger.entries.empty() && ledger.entries.front().before != meta.state)
        differ("ledger.jsonl: step 1 did not start from the state of " + file.string());
      return;
    }
    const ledger::Entry& entry = ledger.at(step);
    if (meta.state != entry.state)
      differ(file.string() + ": its state is not what the ledger says of step " + n);
    if (entry.commit && *entry.commit != state::commit(loaded.state()))
      differ(file.string() + ": its bytes are not what the ledger's commit says");
  }

  void pictures(const train::RunFolder& folder, const Names& names, const ledger::Ledger& ledger) {
    for (const std::string& name : files_of(folder.samples(), names)) {
      const stdfs::path path = folder.samples() / name;
      if (path.extension() == ".npz" && recipe_ && data::arrays(recipe_->data)) {
        const auto texts = attempt([&] { return train::read_archive_of_run(path, *recipe_); });
        if (texts) sample_file(folder, path, *texts, ledger);
        continue;
      }
      if (path.extension() != ".png") {
        foreign(path);
        continue;
      }
      const auto read = attempt([&] { return read_file(fs_, path); });
      if (!read) continue;
      const Bytes& png = *read;
      if (const auto fault = data::check_png(png)) {
        corrupt(path.string() + ": " + fault->chunk + " at byte " + std::to_string(fault->offset) +
                ": " + fault->what);
        continue;
      }
      sample_file(folder, path, data::read_provenance(png), ledger);
    }
  }

  void sample_file(const train::RunFolder& folder, const stdfs::path& path,
                   const data::Provenance& texts, const ledger::Ledger& ledger) {
    ++result.pictures;
    for (Finding& one : misfits(folder, path, texts, ledger))
      result.findings.push_back(std::move(one));
  }

  stdfs::path folder_;
  std::optional<hash::Digest> kept_;
  std::optional<hash::PublicKey> key_;
  std::optional<std::string> data_;
  std::optional<recipe::Recipe> recipe_;              // of the run's folder
  std::optional<std::optional<train::Shape>> shape_;  // once it was looked for
  std::optional<train::Shape> saved_shape_;           // of a checkpoint, else of data at hand
  checkpoint::Statements statements_;                 // those that fit
};

hash::Digest chain_of(const std::string& text) {
  if (const auto chain = hash::Digest::parse(text)) return *chain;
  throw Error(Code::kUsage,
              "--chain " + text + ": a chain is 64 hexadecimal digits, a to f in lower case",
              "as `lockstep train` and `lockstep inspect` print it");
}

}  // namespace

VerifyResult verify(const stdfs::path& path, const VerifyOptions& options) {
  const auto& [chain, key, data, parents] = options;
  Verifier verifier(real_file_system(), chain ? std::optional(chain_of(*chain)) : std::nullopt,
                    key ? std::optional(hash::read_public_key(*key)) : std::nullopt, data);
  if (stdfs::is_directory(path)) {
    for (const stdfs::path& parent : parents) train::require_run(real_file_system(), {parent});
    train::require_run(real_file_system(), {path});
    verifier.run_folder({path});
    verifier.follow(parents);
  } else if (!stdfs::exists(path) ||
             (path.extension() != ".h5" && !stdfs::exists(path.string() + ".sha256"))) {
    throw Error(Code::kUsage,
                stdfs::exists(path) ? path.string() + " is neither a run folder nor a checkpoint"
                                    : "there is no " + path.string(),
                "give a run folder or a step-NNNNNNNN.h5");
  } else if (!parents.empty()) {
    throw Error(Code::kUsage, "--parent is of a run: " + path.string() + " is a checkpoint alone",
                "leave it out, or give the run's folder");
  } else {
    verifier.lone_checkpoint(path);
  }
  VerifyResult& result = verifier.result;
  if (key && result.findings.empty() && !result.signed_to)
    result.findings.push_back({.code = Code::kCorrupt,
                               .what = path.string() + ": nothing in it is signed",
                               .not_signed = true});
  for (Finding& finding : result.findings)  // with a key: what disagrees may be forged
    if (key && finding.code == Code::kDiffer) finding.code = Code::kCorrupt;
  if (!result.findings.empty()) result.signed_to.reset();
  return result;
}

}  // namespace lockstep::audit
