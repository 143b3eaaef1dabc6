#include <iostream>
#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/core/json.h"
#include "lockstep/core/text.h"
#include "lockstep/train/diff.h"
#include "values.h"

namespace lockstep::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string a, b;
  std::int64_t tensors = 10;
  bool json = false;
};

Json json_of(const std::vector<train::FactDifference>& facts) {
  Json list = Json::array();
  for (const auto& fact : facts)
    list.push_back({{"name", fact.name}, {"a", fact.a}, {"b", fact.b}, {"bits", fact.bits}});
  return list;
}

Json json_of(const train::DiffResult& diff) {
  Json out = {{"kind", diff.kind},
              {"same", diff.same()},
              {"recipe", json_of(diff.recipe)},
              {"environment", json_of(diff.environment)},
              {"files", json_of(diff.headings)}};
  if (diff.kind == "runs" || diff.kind == "ledgers") out["steps_compared"] = diff.steps;
  if (diff.ledger)
    out["first_difference"] = {{"step", diff.ledger->step.value}, {"what", diff.ledger->what}};
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

void print(const std::string& title, const std::vector<train::FactDifference>& facts) {
  for (const auto& fact : facts)
    std::cout << title << " " << fact.name << ": " << brief(fact.a) << " | " << brief(fact.b)
              << (fact.bits ? "" : "  (cannot change bits)") << "\n";
}

void print_tensors(const train::DiffResult& diff, std::int64_t most) {
  if (diff.tensors.empty()) return;
  std::cout << diff.tensors.size() << " of " << diff.tensors_compared << " tensors differ:\n"
            << "  step  elements that differ  largest ulp  median ulp  tensor\n";
  for (const auto& [step, one] : diff.tensors) {
    if (most-- == 0) {
      std::cout << "  … (--tensors 0 shows all)\n";
      break;
    }
    if (one.values.different == 0) {
      std::cout << "  " << step.value << "  " << one.tensor << ": " << one.what << "\n";
      continue;
    }
    const std::string share =
        std::to_string(one.values.different) + " of " + std::to_string(one.values.elements);
    std::cout << right(std::to_string(step.value), 6) << right(share, 22)
              << right(std::to_string(one.values.largest), 13) << right(median_ulps(one.values), 12)
              << "  " << one.tensor << "\n";
  }
  for (const auto& [step, one] : diff.tensors) {
    if (one.values.different == 0) continue;  // of another shape, or not there
    std::cout << "ulps of " << one.tensor << ":\n" << histogram(one.values);
    return;
  }
}

void print(const train::DiffResult& diff, std::int64_t most) {
  print("recipe", diff.recipe);
  print("environment", diff.environment);
  print("file", diff.headings);
  if (diff.kind == "runs" || diff.kind == "ledgers") {
    if (!diff.ledger)
      std::cout << "the ledgers agree on all " << diff.steps << " steps that both have\n";
    else if (diff.ledger->step.value == 0)
      std::cout << "the ledgers are not of one run: " << diff.ledger->what << " differs\n";
    else
      std::cout << "step " << diff.ledger->step.value << " is the first that differs: its "
                << diff.ledger->what << "\n";
  }
  print_tensors(diff, most);
  if (diff.picture && diff.picture->different > 0)
    std::cout << diff.picture->different << " of " << diff.picture->pixels
              << " pixel values differ, by at most " << diff.picture->largest << "\n";
  else if (diff.picture && !diff.headings.empty())
    std::cout << "the pixels are the same, the chunks named above differ\n";
  std::cout << (diff.same() ? "same" : "different") << "\n";
}

Code run(const Options& options) {
  const train::DiffResult diff = train::diff(options.a, options.b);
  if (options.json)
    std::cout << json_line(json_of(diff));
  else
    print(diff, options.tensors == 0 ? -1 : options.tensors);
  return diff.same() ? Code::kOk : Code::kDiffer;
}

}  // namespace

Run add_diff(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("a", options->a,
                 "run folder, ledger (.jsonl), checkpoint (.h5), picture (.png), recipe (.toml) or "
                 "fingerprint (.json)")
      ->required();
  app.add_option("b", options->b, "another one of the same kind")->required();
  app.add_option("--tensors", options->tensors, "show at most this many tensors, 0: all")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", options->json, "report as JSON, all tensors with histograms");
  app.footer(
      "Example: lockstep diff runs/a runs/b\n"
      "Exit codes, as `git bisect run` wants them: 0 same, 1 different, 125 cannot compare.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
