
#include <set>

#include "command.h"
#include "device.h"
#include "environment.h"
#include "given_recipe.h"
#include "lockstep/comm/gather.h"
#include "lockstep/core/counted.h"
#include "lockstep/core/file_system.h"
#include "lockstep/core/log.h"
#include "lockstep/fingerprint/compare.h"
#include "lockstep/train/numerics.h"
#include "output.h"
#include "ranks.h"

namespace lockstep::cli {
namespace {

using fingerprint::Comparison;
using fingerprint::Finding;
using fingerprint::Matters;
using fingerprint::Node;
using fingerprint::Question;

struct Options {
  std::vector<std::string> reports;
  std::string recipe;
  int ranks = 1;
  std::string device = "cpu";
  bool json = false;
};

Node node_of(const std::string& name, const std::function<std::string()>& report) {
  try {
    Node node{name, fingerprint::from_json(report())};
    fingerprint::require_self_test(node.facts);
    return node;
  } catch (const Error& error) {
    throw Error(Code::kUsage, name + ": " + error.message(), error.hint());
  }
}

// Its errors name the file themselves.
std::string text_of(const std::string& file) {
  try {
    return read_text(real_file_system(), file);
  } catch (const Error& error) {
    throw Error(Code::kUsage, error.message(), "give reports of `lockstep fingerprint --json`");
  }
}

std::vector<Node> saved(const std::vector<std::string>& files) {
  std::vector<Node> nodes;
  for (const std::string& file : files)
    nodes.push_back(node_of(file, [text = text_of(file)] { return text; }));
  return nodes;
}

// Every rank's, on every rank.
std::vector<Node> of_ranks(comm::Group& group, const fingerprint::Fingerprint& mine) {
  std::vector<Node> nodes;
  for (const std::string& text : comm::gather_texts(group, fingerprint::to_json(mine))) {
    nodes.push_back(node_of("rank " + std::to_string(nodes.size()), [&] { return text; }));
    const std::string uuid = fingerprint::fact(nodes.back().facts, "device_uuid");
    nodes.back().name += " (" + fingerprint::fact(nodes.back().facts, "host") +
                         (uuid.empty() ? ")" : ", GPU " + uuid + ")");
  }
  return nodes;
}

// Ranks, or several reports, of one machine say nothing about another one.
struct Counts {
  std::size_t machines = 0;  // by their host names
  std::size_t gpus = 0;
};

Counts counts_of(const std::vector<Node>& nodes) {
  std::set<std::string> hosts, gpus;
  for (const Node& node : nodes) {
    hosts.insert(fingerprint::fact(node.facts, "host"));
    if (const std::string uuid = fingerprint::fact(node.facts, "device_uuid"); !uuid.empty())
      gpus.insert(uuid);
  }
  return {hosts.size(), gpus.size()};
}

// "8 nodes (2 machines, 8 GPUs)".
std::string counted_nodes(const std::vector<Node>& nodes) {
  const Counts counts = counts_of(nodes);
  std::string where = nodes.size() == 1 ? "" : counted(counts.machines, "machine");
  if (counts.gpus != 0) where += (where.empty() ? "" : ", ") + counted(counts.gpus, "GPU");
  return counted(nodes.size(), "node") + (where.empty() ? "" : " (" + where + ")");
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
  const Counts counts = counts_of(nodes);
  Json out = {{"code", static_cast<int>(code)},
              {"nodes", Json::array()},
              {"machines", counts.machines},
              {"gpus", counts.gpus},
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

void print_text(const std::vector<Node>& nodes, const Comparison& comparison, Code code,
                Question question) {
  for (const Finding& finding : comparison.findings)
    if (!finding.sentence.empty())
      print_line(finding.kernel ? "BITS   " : "       ", finding.sentence);
  const bool portable = std::ranges::none_of(comparison.findings, [](const Finding& finding) {
    return finding.kernel && finding.matters == Matters::kBoth;
  });
  const bool native = std::ranges::none_of(comparison.findings, [](const Finding& finding) {
    return finding.kernel && finding.matters == Matters::kNative;
  });
  std::string verdict = counted_nodes(nodes) + ": portable kernels " +
                        (portable ? "give the bits that every machine must give" : "DIFFER");
  if (!comparison.native_tried)
    verdict += "; native kernels were not tried on all";
  else if (nodes.size() == 1)
    verdict += "; native kernels were tried, and compared with no other node's";
  else
    verdict += std::string("; native kernels ") + (native ? "give the same bits on all" : "DIFFER");
  print_line(verdict);
  if (code == Code::kEnvironment)
    print_line(
        "the recipe's numerics are native: the differences above may change bits, or end the run, "
        "even where the kernels tried here agree");
  else if (code == Code::kOk && question == Question::kPortable && !native)
    print_line("the recipe's numerics are portable: native kernels do not matter to it");
}

// What is asked of the nodes: without a recipe, everything but products of another precision.
struct Asked {
  Question question = Question::kAny;
  ops::Precision precision = ops::Precision::kFloat32;
};

Asked asked_by(const Options& options) {
  if (options.recipe.empty()) return {};
  const recipe::Recipe recipe = given_recipe(options.recipe);
  return {recipe::is_native(recipe) ? Question::kNative : Question::kPortable,
          train::precision_of(recipe)};
}

class Verdict {
 public:
  Verdict(std::vector<Node> nodes, const Asked& asked)
      : nodes_(std::move(nodes)),
        comparison_(fingerprint::compare(nodes_, asked.precision)),
        question_(asked.question),
        code_(fingerprint::verdict(comparison_, question_)) {}

  void print(bool json) const {
    if (json)
      print_json(json_of(nodes_, comparison_, code_));
    else
      print_text(nodes_, comparison_, code_, question_);
  }
  Code code() const { return code_; }

 private:
  std::vector<Node> nodes_;
  Comparison comparison_;
  Question question_;
  Code code_;
};

// No rank is turned away: the purpose is to see how it differs.
Code run_rank(const Options& options) {
  const Asked asked = asked_by(options);
  const auto environment = process_environment();
  const comm::Identity identity = comm::discover(environment);
  const ComputingScope computing({.threads = 1, .device = options.device}, identity.local_size,
                                 identity.local_rank);
  return as_rank(identity, [&] {
    // First: native kernels set variables of this process, which must have no other threads then.
    const fingerprint::Fingerprint mine =
        fingerprint::take(fingerprint::Kernels::kBoth, asked.precision);
    const auto group = join_any(identity, options.device, environment);
    const Verdict verdict(of_ranks(*group, mine), asked);
    show(*group, [&] { verdict.print(options.json); });
    return verdict.code();
  });
}

Code run_saved(const Options& options) {
  const Verdict verdict(saved(options.reports), asked_by(options));
  verdict.print(options.json);
  return verdict.code();
}

Code run(const Options& options) {
  if (!options.reports.empty() && options.ranks > 1)
    throw Error(Code::kUsage, "--ranks compares ranks, not saved reports", "leave one of them out");
  if (!options.reports.empty() && options.device != "cpu")
    throw Error(Code::kUsage, "--device tries kernels here, not those of saved reports",
                "leave one of them out");
  if (!options.reports.empty()) return run_saved(options);
  if (options.ranks == 1) return run_rank(options);
  asked_by(options);  // a bad recipe is told once
  require_device(options.device);
  return launch({options.ranks, 0, options.json}, process_environment());
}

}  // namespace

Run add_check(Command& command) {
  const auto options = std::make_shared<Options>();
  command.add_option("reports", options->reports,
                     "saved reports: `lockstep fingerprint --json` of each node, or a run's "
                     "environment/*.json; none: the ranks of this job");
  command.add_option("--recipe", options->recipe, "recipe that the nodes are to train")
      .value("FILE");
  command.add_option("--ranks", options->ranks, "start this many processes here").range(1, 4096);
  add_device(command, options->device);
  add_json(command, options->json);
  command.footer(
      "Example: srun lockstep check --recipe recipes/fashion-mnist-ddpm.toml\n"
      "Tries every kernel, in portable and in native numerics. Exit codes: 0, 1 bits differ, 4 "
      "environments differ, or native kernels cannot be tried, and the recipe's numerics are "
      "native.");
  return [options] { return run(*options); };
}

}  // namespace lockstep::cli
