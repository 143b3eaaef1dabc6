// Nodes against each other: which differs in what, and whether it matters.
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/fingerprint/fingerprint.h"

namespace lockstep::fingerprint {

struct Node {
  std::string name;  // "rank 2 on vm", "a.json"
  Fingerprint facts;
};

// Whose bits a difference can change.
enum class Matters { kNobody, kNative, kBoth };
Matters matters(const std::string& fact);

// Whether a native step on a CPU, or on a GPU, takes its kernels from what the fact names, or by
// it: others may come for a recipe's shapes, though they do not for those that a fingerprint tries.
bool names_native_kernels(const std::string& fact, bool on_cpu);

struct Group {
  std::string value;  // "" where the fact is absent
  std::vector<std::string> nodes;
};

// A fact that nodes disagree about, or a portable kernel that is not golden.
struct Finding {
  std::string fact;
  Matters matters;
  bool kernel = false;        // a hash, so bits do differ; else only a description does
  std::vector<Group> groups;  // the largest first
  std::string sentence;       // in plain words; empty where an earlier one speaks for it, too
};

struct Comparison {
  std::vector<Finding> findings;  // kernels first
  bool native_tried = false;      // every node has native kernels' hashes, in that precision
};
Comparison compare(const std::vector<Node>& nodes,
                   ops::Precision precision = ops::Precision::kFloat32);

// What a command ends with: kDiffer where kernels give other bits, kEnvironment where descriptions
// differ that native numerics depend on. `native`: the numerics in question; neither: any.
enum class Question { kAny, kPortable, kNative };
Code verdict(const Comparison& comparison, Question question);

}  // namespace lockstep::fingerprint
