#include "lockstep/fingerprint/compare.h"

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <string_view>

#include "lockstep/core/list.h"
#include "lockstep/fingerprint/kernels.h"

namespace lockstep::fingerprint {
namespace {

constexpr std::string_view kPortable = "portable.", kNative = "native.";

// What a native step takes its kernels from, or what chooses them.
constexpr std::string_view kKernelsOnCpu[] = {"libtorch", "libtorch_cpu", "mkl", "onednn"};
constexpr std::string_view kKernelsOnGpu[] = {"libtorch", "cuda", "cudnn", "cublas"};
// What they run on. Other facts concern what only moves bytes, or what our own arithmetic does not
// depend on.
constexpr std::string_view kUnderKernels[] = {"native",    "device", "machine", "cpu",
                                              "cpu_flags", "glibc",  "gpu",     "libtorch_flags",
                                              "openmp",    "driver"};
constexpr std::string_view kNeverMatter[] = {
    "env.LOCKSTEP_ISA",         "env.LOCKSTEP_TRANSPORT", "env.NCCL_ALGO",
    "env.NCCL_PROTO",           "env.NCCL_NVLS_ENABLE",   "env.NCCL_COLLNET_ENABLE",
    "env.CUDA_VISIBLE_DEVICES", "env.CUDA_DEVICE_ORDER",  "env.OMP_NUM_THREADS",
    "env.MKL_NUM_THREADS"};

// How a GPU is now, and how bytes pass between GPUs.
constexpr std::array<std::string_view, 3> kOfGpuNeverMatter = {".ecc_errors", ".throttling",
                                                               ".peers"};

constexpr const char* kNameOfGpu = "device_uuid";  // each has its own
constexpr const char* kRefusal = "native";         // the fact that says why they were not tried

bool is_among(std::span<const std::string_view> names, std::string_view fact) {
  return std::ranges::find(names, fact) != names.end();
}

bool is_kernel(const std::string& fact) {
  return fact.starts_with(kPortable) || fact.starts_with(kNative);
}

// Is the fact of a GPU, and one that the node's driver did not tell?
bool is_untold(const Node& node, const std::string& name, const std::string& value) {
  const bool of_gpu = name.starts_with("gpu") || name == "driver" || name == "cuda_driver";
  return of_gpu && fact(node.facts, "gpu") == "unknown" && (value.empty() || name == "gpu");
}

// known: leave out nodes without the fact. A kernel that was not tried is not a difference, nor is
// what nobody could tell.
std::vector<Group> groups_of(const std::vector<Node>& nodes, const std::string& name,
                             bool known = false) {
  std::vector<Group> groups;
  for (const Node& node : nodes) {
    const std::string value = fact(node.facts, name);
    if ((known && value.empty()) || is_untold(node, name, value)) continue;
    auto same = std::ranges::find(groups, value, &Group::value);
    if (same == groups.end()) same = groups.insert(groups.end(), {value, {}});
    same->nodes.push_back(node.name);
  }
  std::ranges::stable_sort(groups, std::greater(), [](const Group& g) { return g.nodes.size(); });
  return groups;
}

// All facts' names, in the order of the first node that has them.
std::vector<std::string> names_of(const std::vector<Node>& nodes) {
  std::vector<std::string> names;
  std::set<std::string> known;
  for (const Node& node : nodes)
    for (const auto& [name, value] : node.facts)
      if (known.insert(name).second) names.push_back(name);
  return names;
}

std::string shown(const std::string& value) {
  return value.empty() ? "not set" : value;
}

// "conv2d (portable) is wrong on rank 2: …".
Finding of_portable(const std::string& kernel, std::vector<Group> groups, std::string_view golden) {
  std::vector<std::string> wrong;
  for (const Group& group : groups)
    if (group.value != golden) wrong.insert(wrong.end(), group.nodes.begin(), group.nodes.end());
  const std::string sentence =
      kernel + " (portable) is wrong on " + listed(wrong, " and ") +
      ": these are not the bits that every machine must give; do not train there";
  return {std::string(kPortable) + kernel, Matters::kBoth, true, std::move(groups), sentence};
}

// The sentence for all kernels in which the same nodes differ from the same others.
std::string native_sentence(const std::vector<std::string>& kernels,
                            const std::vector<Group>& groups) {
  std::string sentence = listed(kernels, " and ") + " (native) " +
                         (kernels.size() == 1 ? "gives" : "give") + " other bits on ";
  for (std::size_t i = 1; i < groups.size(); ++i)
    sentence += (i == 1 ? "" : ", others again on ") + listed(groups[i].nodes, " and ");
  return sentence + " than on " + listed(groups.front().nodes, " and ") +
         ": native runs will differ; portable ones are not touched";
}

// The first kernel of each such division has the sentence for all.
void add_native(const std::vector<Node>& nodes, const std::vector<std::string>& names,
                Comparison& result) {
  struct Division {
    std::vector<std::string> kernels;
    std::vector<std::vector<std::string>> nodes;
    std::size_t finding;
  };
  std::vector<Division> divisions;
  for (const std::string& name : names) {
    if (!name.starts_with(kNative)) continue;
    std::vector<Group> groups = groups_of(nodes, name, /*known=*/true);
    if (groups.size() <= 1) continue;
    std::vector<std::vector<std::string>> divided;
    for (const Group& group : groups) divided.push_back(group.nodes);
    auto same = std::ranges::find(divisions, divided, &Division::nodes);
    if (same == divisions.end())
      same = divisions.insert(divisions.end(), {{}, divided, result.findings.size()});
    same->kernels.push_back(name.substr(kNative.size()));
    result.findings.push_back({name, Matters::kNative, true, std::move(groups), {}});
  }
  for (const Division& division : divisions) {
    Finding& first = result.findings[division.finding];
    first.sentence = native_sentence(division.kernels, first.groups);
  }
}

// Nodes that cannot try native kernels, and why; even where all nodes agree in that.
Finding of_refusals(std::vector<Group> groups) {
  std::string sentence = "native kernels were not tried";
  for (const char* between = ": "; const Group& group : groups) {
    if (group.value.empty()) continue;
    sentence += between + ("on " + listed(group.nodes, " and ")) + ": " + group.value;
    between = "; ";
  }
  return {kRefusal, Matters::kNative, false, std::move(groups), sentence};
}

Finding of_fact(const std::string& name, std::vector<Group> groups) {
  std::string sentence = name + ": ";
  for (std::size_t i = 0; i < groups.size(); ++i)
    sentence +=
        (i == 0 ? "" : "; ") + shown(groups[i].value) + " on " + listed(groups[i].nodes, " and ");
  const Matters how = matters(name);
  sentence += how == Matters::kNobody   ? " (changes no bits)"
              : how == Matters::kNative ? " (can change bits in native numerics)"
                                        : " (another program)";
  return {name, how, false, std::move(groups), sentence};
}

}  // namespace

Matters matters(const std::string& fact) {
  if (fact == "lockstep" || fact == "self_test" || fact.starts_with(kPortable))
    return Matters::kBoth;
  if (fact.starts_with("gpu."))  // of each, or of the one that computes
    return std::ranges::any_of(kOfGpuNeverMatter, [&](auto end) { return fact.ends_with(end); })
               ? Matters::kNobody
               : Matters::kNative;
  if (fact.starts_with(kNative)) return Matters::kNative;
  if (is_among(kNeverMatter, fact)) return Matters::kNobody;
  if (fact.starts_with("env.") || is_among(kUnderKernels, fact) || is_among(kKernelsOnCpu, fact) ||
      is_among(kKernelsOnGpu, fact))
    return Matters::kNative;
  return Matters::kNobody;
}

bool names_native_kernels(const std::string& fact, bool on_cpu) {
  return on_cpu ? is_among(kKernelsOnCpu, fact) : is_among(kKernelsOnGpu, fact);
}

Comparison compare(const std::vector<Node>& nodes, ops::Precision precision) {
  Comparison result;
  const std::vector<std::string> names = names_of(nodes);
  result.native_tried = std::ranges::all_of(nodes, [&](const Node& node) {
    return !fact(node.facts, std::string(kNative) + "linear" + suffix(precision)).empty();
  });
  for (const GoldenKernel& kernel : golden_kernels()) {
    std::vector<Group> groups =
        groups_of(nodes, std::string(kPortable).append(kernel.name), /*known=*/true);
    if (groups.size() > 1 || (!groups.empty() && groups.front().value != kernel.hash))
      result.findings.push_back(
          of_portable(std::string(kernel.name), std::move(groups), kernel.hash));
  }
  add_native(nodes, names, result);
  for (const std::string& name : names) {
    if (is_kernel(name) || name == "self_test" || name == kNameOfGpu) continue;
    std::vector<Group> groups = groups_of(nodes, name);
    if (name == kRefusal) {
      result.findings.push_back(of_refusals(std::move(groups)));
      continue;
    }
    if (groups.size() > 1) result.findings.push_back(of_fact(name, std::move(groups)));
  }
  return result;
}

Code verdict(const Comparison& comparison, Question question) {
  const auto counts = [&](const Finding& finding) {
    return finding.matters == Matters::kBoth ||
           (finding.matters == Matters::kNative && question != Question::kPortable);
  };
  Code code = Code::kOk;
  for (const Finding& finding : comparison.findings) {
    if (!counts(finding)) continue;
    if (finding.kernel) return Code::kDiffer;
    // Without a recipe a name that differs is worth a line, but no alarm.
    if (question == Question::kNative) code = Code::kEnvironment;
  }
  return code;
}

}  // namespace lockstep::fingerprint
