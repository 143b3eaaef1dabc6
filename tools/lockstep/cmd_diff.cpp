#include <array>

#include "command.h"
#include "lockstep/audit/diff.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/text.h"
#include "mistaken.h"
#include "output.h"
#include "values.h"

namespace lockstep::cli {
namespace {

struct Options {
  std::string a, b;
  std::int64_t tensors = 10;
  bool json = false;
};

Json json_of(const std::vector<audit::FactDifference>& facts) {
  Json list = Json::array();
  for (const auto& fact : facts)
    list.push_back({{"name", fact.name}, {"a", fact.a}, {"b", fact.b}, {"bits", fact.bits}});
  return list;
}

Json json_of(const audit::DiffResult& diff) {
  Json out = {{"kind", diff.kind},
              {"same", diff.same()},
              {"recipe", json_of(diff.recipe)},
              {"environment", json_of(diff.environment)},
              {"files", json_of(diff.headings)}};
  if (diff.kind == "runs" || diff.kind == "ledgers") out["steps_compared"] = diff.steps;
  if (diff.ledger)
    out["first_difference"] = {{"step", diff.ledger->step.value}, {"what", diff.ledger->what}};
  if (diff.losses) out["first_losses"] = diff.losses->value;
  if (!diff.checkpoints.empty()) {
    out["checkpoints_compared"] = Json::array();
    for (const Step step : diff.checkpoints) out["checkpoints_compared"].push_back(step.value);
    out["tensors_compared"] = diff.tensors_compared;
    out["tensors"] = Json::array();
    for (const auto& [step, one] : diff.tensors) {
      Json tensor = {{"step", step.value}, {"tensor", one.tensor}, {"what", one.what}};
      if (one.values.different > 0) tensor.update(values_json(one.values));
      out["tensors"].push_back(std::move(tensor));
    }
  }
  if (diff.picture)
    out["picture"] = {{"values", diff.picture->pixels},
                      {"different", diff.picture->different},
                      {"largest", diff.picture->largest}};
  return out;
}

void print(const std::string& title, const std::vector<audit::FactDifference>& facts) {
  for (const auto& fact : facts)
    print_line(title, " ", fact.name, ": ", brief(fact.a), " | ", brief(fact.b),
               fact.bits ? "" : "  (cannot change bits)");
}

using Row = std::array<std::string, 5>;

// Columns aligned on their right, two spaces between them; the last begins where it may.
void print(const std::vector<Row>& rows) {
  std::array<std::size_t, 4> widths{};
  for (const Row& row : rows)
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < widths.size(); ++i) line += "  " + right(row[i], widths[i]);
    print_line(line, "  ", row.back());
  }
}

void print_tensors(const audit::DiffResult& diff, std::int64_t most) {
  if (diff.tensors.empty()) return;
  print_line(diff.tensors.size(), " of ", counted(diff.tensors_compared, "tensor"),
             diff.tensors.size() == 1 ? " differs:" : " differ:");
  std::vector<Row> rows = {{"step", "elements that differ", "largest ulp", "median ulp", "tensor"}};
  for (const auto& [step, one] : diff.tensors) {
    if (most-- == 0) break;
    const state::ValueDifference& values = one.values;
    if (values.different == 0)  // of another shape, or not there
      rows.push_back({std::to_string(step.value), "", "", "", one.tensor + ": " + one.what});
    else
      rows.push_back({std::to_string(step.value),
                      std::to_string(values.different) + " of " + std::to_string(values.elements),
                      std::to_string(values.largest), median_ulps(values), one.tensor});
  }
  print(rows);
  if (rows.size() <= diff.tensors.size()) print_line("  … (--tensors 0 shows all)");
  for (const auto& [step, one] : diff.tensors) {
    if (one.values.different == 0) continue;
    print_line("ulps of ", one.tensor, ":");
    print_lines(histogram(one.values));
    return;
  }
}

std::string losses_of(const audit::DiffResult& diff) {
  if (diff.steps == 0) return "";
  return diff.losses ? "; the losses differ from step " + std::to_string(diff.losses->value) + " on"
                     : "; the losses of all " + counted(diff.steps, "step") +
                           " that both have are the same";
}

void print(const audit::DiffResult& diff, std::int64_t most) {
  print("recipe", diff.recipe);
  print("environment", diff.environment);
  print("file", diff.headings);
  if (diff.kind == "runs" || diff.kind == "ledgers") {
    if (!diff.ledger)
      print_line("the ledgers agree on all ", counted(diff.steps, "step"), " that both have");
    else if (diff.ledger->step.value == 0)
      print_line("the ledgers are not of one run: ", diff.ledger->what, " differs",
                 losses_of(diff));
    else
      print_line("step ", diff.ledger->step.value, " is the first that differs: its ",
                 diff.ledger->what);
  }
  print_tensors(diff, most);
  if (diff.picture && diff.picture->different > 0)
    print_line(diff.picture->different, " of ", diff.picture->pixels,
               " pixel values differ, by at most ", diff.picture->largest);
  else if (diff.picture && !diff.headings.empty())
    print_line("the pixels are the same, the chunks named above differ");
  print_line(diff.same() ? "same" : "different");
}

Code run(const Options& options) {
  for (const std::string& path : {options.a, options.b}) require_comparable(path);
  const audit::DiffResult diff = audit::diff(options.a, options.b);
  if (options.json)
    print_json(json_of(diff));
  else
    print(diff, options.tensors == 0 ? -1 : options.tensors);
  return diff.same() ? Code::kOk : Code::kDiffer;
}

}  // namespace

Run add_diff(Command& command) {
  const auto options = std::make_shared<Options>();
  command
      .add_option(
          "a", options->a,
          "run folder, ledger (.jsonl), checkpoint (.h5, or RUN@STEP), picture (.png), recipe "
          "(.toml) or fingerprint (.json)")
      .required();
  command.add_option("b", options->b, "another one of the same kind").required();
  command.add_option("--tensors", options->tensors, "show at most this many tensors, 0: all")
      .range(std::int64_t{0}, std::int64_t{1} << 40);
  command.add_flag("--json", options->json, "report as JSON, all tensors with histograms");
  command.footer(
      "Example: lockstep diff runs/a runs/b\n"
      "Exit codes, as `git bisect run` wants them: 0 same, 1 different, 125 cannot compare.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
