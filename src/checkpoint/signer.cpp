#include "lockstep/checkpoint/signer.h"

#include <algorithm>

#include "lockstep/core/error.h"

namespace lockstep::checkpoint {

namespace stdfs = std::filesystem;

namespace {

constexpr std::string_view kSignature = ".sig";

}  // namespace

std::string statement_name(Step step) {
  return file_name(step) + std::string(kSignature);
}

std::optional<Step> step_of_statement(const std::string& name) {
  if (!name.ends_with(kSignature)) return std::nullopt;
  return step_of(name.substr(0, name.size() - kSignature.size()));
}

Statements read_statements(FileSystem& fs, const stdfs::path& folder) {
  Statements statements;
  if (!fs.exists(folder)) return statements;
  for (const std::string& name : fs.list(folder)) {
    const auto step = step_of_statement(name);
    if (!step) continue;
    const std::string file = (folder / name).string();
    const Statement statement = parse_statement(read_text(fs, file), file);
    if (statement.step != *step)
      throw Error(Code::kCorrupt, file + " is the statement of step " +
                                      std::to_string(statement.step.value) +
                                      ", under another step's name");
    statements.emplace(*step, statement);
  }
  return statements;
}

std::vector<Step> orphans(const Statements& statements) {
  std::vector<Step> found;
  std::vector<hash::Digest> before = {hash::Digest{}};
  for (const auto& [step, statement] : statements) {
    if (std::find(before.rbegin(), before.rend(), statement.parent) == before.rend())
      found.push_back(step);
    before.push_back(digest_of(statement));
  }
  return found;
}

Signer::Signer(FileSystem& fs, stdfs::path folder, const hash::PrivateKey& key,
               const hash::Digest& run, std::int64_t every, Statements statements)
    : fs_(fs),
      folder_(std::move(folder)),
      key_(key),
      run_(run),
      every_(every),
      statements_(std::move(statements)) {}

hash::Digest Signer::parent_of(Step step) const {
  for (auto it = std::make_reverse_iterator(statements_.lower_bound(step));
       it != statements_.rend(); ++it) {
    if (in_chain(it->first)) return digest_of(it->second);
  }
  return {};
}

void Signer::sign(const Meta& meta, Step step, const hash::Digest& root) {
  Statement statement{.run = run_,
                      .recipe = meta.recipe,
                      .data = meta.data,
                      .step = step,
                      .parent = parent_of(step),
                      .checkpoint = root,
                      .ledger = meta.chain,
                      .key = {},
                      .signature = {}};
  checkpoint::sign(statement, key_);
  lockstep::publish(fs_, folder_ / statement_name(step), as_bytes(format_statement(statement)));
  statements_[step] = statement;
}

void Signer::retire(Step newest) {
  std::vector<Step> gone;
  std::vector<hash::Digest> parents;  // of the later ones that stay
  for (auto it = statements_.rbegin(); it != statements_.rend(); ++it) {
    const auto& [step, statement] = *it;
    const auto is_parent = [&, &statement = statement] {
      return std::find(parents.rbegin(), parents.rend(), digest_of(statement)) != parents.rend();
    };
    if (step < newest && !in_chain(step) && !fs_.exists(folder_ / file_name(step)) && !is_parent())
      gone.push_back(step);
    else
      parents.push_back(statement.parent);
  }
  for (const Step step : gone) {
    fs_.remove(folder_ / statement_name(step));
    statements_.erase(step);
  }
}

}  // namespace lockstep::checkpoint
