#include "lockstep/train/signing.h"

#include "lockstep/checkpoint/store.h"
#include "lockstep/core/error.h"
#include "lockstep/core/log.h"

namespace lockstep::train {

namespace stdfs = std::filesystem;

namespace {

stdfs::path file_of(const RunFolder& folder, Step step) {
  return folder.checkpoints() / checkpoint::statement_name(step);
}

}  // namespace

std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const ledger::Header& header) {
  if (statement.run != header.chain) return "it is a statement of another run";
  if (statement.recipe != header.recipe) return "it names another recipe than its run's";
  if (statement.data != header.data) return "it names other data than its run's";
  return std::nullopt;
}

std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const ledger::Ledger& ledger) {
  if (const auto what = mismatch(statement, ledger.header)) return what;
  const std::string step = std::to_string(statement.step.value);
  if (statement.step > ledger.last())
    return "the ledger ends at step " + std::to_string(ledger.last().value) +
           ", and was signed up to step " + step + ": it was cut";
  if (statement.ledger != ledger.chain(statement.step))
    return "the ledger's chain at step " + step + " is not the one that was signed";
  return std::nullopt;
}

std::optional<std::string> mismatch(const checkpoint::Statement& statement,
                                    const checkpoint::Loaded& checkpoint) {
  const checkpoint::Meta& meta = checkpoint.meta();
  const recipe::Recipe recipe = recipe_in(meta, "the checkpoint that it names");
  if (const auto what = mismatch(statement, header_of(recipe, meta.data))) return what;
  if (statement.step != checkpoint.state().step) return "its checkpoint is of another step";
  if (statement.ledger != meta.chain) return "its checkpoint names another chain of the ledger";
  if (statement.checkpoint != checkpoint.root())
    return "its checkpoint is not the file that was signed";
  return std::nullopt;
}

checkpoint::Statements statements_by(FileSystem& fs, const RunFolder& folder,
                                     const std::optional<hash::PrivateKey>& key) {
  checkpoint::Statements statements = checkpoint::read_statements(fs, folder.checkpoints());
  for (const auto& [step, statement] : statements) {
    if (!key)
      throw Error(Code::kUsage, folder.root.string() + " is a signed run, and there is no --sign",
                  "give the key that signed it, or another folder with --run");
    if (statement.key != key->public_key())
      throw Error(Code::kUsage,
                  file_of(folder, step).string() + " is signed by another key, " +
                      statement.key.hex().substr(0, 12) + ", not by " +
                      key->public_key().hex().substr(0, 12),
                  "give that one, or another folder with --run");
  }
  if (const auto alone = checkpoint::orphans(statements); !alone.empty())
    throw Error(Code::kCorrupt,
                file_of(folder, alone.front()).string() +
                    ": the statement that it names as its parent is missing",
                "restore it from another copy");
  return statements;
}

void require_signed(const RunFolder& folder, const checkpoint::Statements& statements,
                    const ledger::Ledger& ledger, const checkpoint::Loaded* newest) {
  for (const auto& [step, statement] : statements) {
    auto what = mismatch(statement, ledger);
    if (!what && newest && newest->state().step == step) what = mismatch(statement, *newest);
    if (what)
      throw Error(Code::kCorrupt, file_of(folder, step).string() + ": " + *what,
                  "the evidence was changed; restore it from another copy");
  }
}

void sign_rest(FileSystem& fs, const RunFolder& folder, const Measure& measure,
               const checkpoint::Loaded& newest, Step last_signed, checkpoint::Signer& signer) {
  const Step last = newest.state().step;
  for (const Step step : checkpoint::list(fs, folder.checkpoints())) {
    if (step <= last_signed || step >= last) continue;
    try {
      const checkpoint::Loaded loaded = load_of_run(fs, folder, step, measure);
      signer.sign(loaded.meta(), step, loaded.root());
    } catch (const Error& failure) {
      if (failure.code() != Code::kCorrupt) throw;
      log::warn(std::string(failure.what()) + "; it is not signed");
    }
  }
  if (last > last_signed) signer.sign(newest.meta(), last, newest.root());
}

}  // namespace lockstep::train
