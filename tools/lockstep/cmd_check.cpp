#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "lockstep/comm/gather.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/recipe/load.h"
#include "output.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

using fingerprint::Comparison;
using fingerprint::Finding;
using fingerprint::Matters;
using fingerprint::Node;
using fingerprint::Question;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> reports;
  std::string recipe;
  int ranks = 1;
  bool json = false;
};

std::vector<Node> saved(const std::vector<std::string>& files) {
  std::vector<Node> nodes;
  for (const std::string& file : files) {
    try {
      nodes.push_back({file, fingerprint::from_json(read_text(real_file_system(), file))});
    } catch (const Error& error) {
      throw Error(Code::kUsage, file + ": " + error.message(), error.hint());
    }
    if (fingerprint::fact(nodes.back().facts, "self_test").empty())
      throw Error(Code::kUsage, file + ": it is not a fingerprint: it has no self_test",
                  "give a file that `lockstep fingerprint --json` or a run made");
  }
  return nodes;
}

// Every rank's, on every rank. Nothing keeps a rank away: to see how it differs is the purpose.
std::vector<Node> of_ranks(const comm::Identity& identity, const comm::Environment& environment) {
  // First: native kernels set variables of this process, which must have no other threads then.
  const fingerprint::Fingerprint mine = fingerprint::take(fingerprint::Kernels::kBoth);
  comm::Options meeting = meeting_options(identity, nullptr, environment);
  meeting.credentials.clear();
  const auto group = comm::connect(identity, meeting);
  std::vector<Node> nodes;
  for (const std::string& text : comm::gather_texts(*group, fingerprint::to_json(mine))) {
    nodes.push_back({"rank " + std::to_string(nodes.size()), fingerprint::from_json(text)});
    nodes.back().name += " (" + fingerprint::fact(nodes.back().facts, "host") + ")";
  }
  return nodes;
}

const char* word(Matters matters) {
  switch (matters) {
    case Matters::kNobody:
      return "nobody";
    case Matters::kNative:
      return "native";
    case Matters::kBoth:
      return "both";
  }
  return "";
}

Json json_of(const std::vector<Node>& nodes, const Comparison& comparison, Code code) {
  Json out = {{"code", static_cast<int>(code)},
              {"nodes", Json::array()},
              {"native_tried", comparison.native_tried},
              {"findings", Json::array()}};
  for (const Node& node : nodes) out["nodes"].push_back(node.name);
  for (const Finding& finding : comparison.findings) {
    Json one = {{"fact", finding.fact},
                {"matters", word(finding.matters)},
                {"kernel", finding.kernel},
                {"sentence", finding.sentence},
                {"groups", Json::array()}};
    for (const auto& group : finding.groups)
      one["groups"].push_back({{"value", group.value}, {"nodes", group.nodes}});
    out["findings"].push_back(std::move(one));
  }
  return out;
}

void print(const std::vector<Node>& nodes, const Comparison& comparison, Code code,
           Question question) {
  for (const Finding& finding : comparison.findings)
    if (!finding.sentence.empty())
      print_line(finding.kernel ? "BITS   " : "       ", finding.sentence);
  const std::string count = std::to_string(nodes.size()) + (nodes.size() == 1 ? " node" : " nodes");
  const bool portable = std::ranges::none_of(comparison.findings, [](const Finding& finding) {
    return finding.kernel && finding.matters == Matters::kBoth;
  });
  const bool native = std::ranges::none_of(comparison.findings, [](const Finding& finding) {
    return finding.kernel && finding.matters == Matters::kNative;
  });
  std::string verdict = count + ": portable kernels " +
                        (portable ? "give the bits that every machine must give" : "DIFFER");
  if (!comparison.native_tried)
    verdict += "; native kernels were not tried on all";
  else if (nodes.size() > 1)
    verdict += std::string("; native kernels ") + (native ? "give the same bits on all" : "DIFFER");
  print_line(verdict);
  if (code == Code::kEnvironment)
    print_line(
        "the recipe's numerics are native: what is named above may change bits that the kernels "
        "tried here did not show");
  else if (code == Code::kOk && question == Question::kPortable && !native)
    print_line("the recipe's numerics are portable: native kernels do not matter to it");
}

Code run_rank(const Options& options) {
  Question question = Question::kAny;
  if (!options.recipe.empty())
    question = recipe::is_native(recipe::load(options.recipe, {})) ? Question::kNative
                                                                   : Question::kPortable;
  const comm::Identity identity = comm::discover(process_environment());
  const std::vector<Node> nodes =
      options.reports.empty() ? of_ranks(identity, process_environment()) : saved(options.reports);
  const Comparison comparison = fingerprint::compare(nodes);
  const Code code = fingerprint::verdict(comparison, question);
  if (identity.rank == Rank(0)) {
    if (options.json)
      print_json(json_of(nodes, comparison, code));
    else
      print(nodes, comparison, code, question);
  }
  return code;
}

Code run(const Options& options) {
  if (options.ranks == 1) return run_rank(options);
  if (!options.reports.empty())
    throw Error(Code::kUsage, "--ranks compares ranks, not saved reports", "leave one of them out");
  return launch({options.ranks, 0}, process_environment());
}

}  // namespace

Run add_check(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  app.add_option("reports", options->reports,
                 "saved reports: `lockstep fingerprint --json` of each node, or a run's "
                 "environment/*.json; none: the ranks of this job");
  app.add_option("--recipe", options->recipe, "what it must be good enough for");
  app.add_option("--ranks", options->ranks, "start this many processes here")
      ->check(CLI::Range(1, 4096));
  app.add_flag("--json", options->json, "report as JSON");
  app.footer(
      "Example: srun lockstep check --recipe recipes/fashion-mnist-ddpm.toml\n"
      "Tries every kernel, in portable and in native numerics. Exit codes: 0, 1 bits differ, 4 "
      "environments differ and the recipe's numerics are native.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
