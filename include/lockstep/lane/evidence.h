// What one lane contributes to a phase, small enough to be compared: leaf hashes of its loss, of
// every gradient that leaves for the exchange, and of what it gives to batch statistics. A witness
// that computes the lane again must come to the same (bits do not depend on who computes).
#pragma once

#include <string>
#include <vector>

#include "lockstep/core/ids.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::lane {

struct LaneEvidence {
  struct Part {
    std::string name;  // for messages: "gradient of generator/output [64 x 2]"
    std::int64_t floats = 0;
    std::vector<hash::Leaf> leaves;
  };
  Lane lane;
  std::vector<Part> parts;

  hash::Digest digest() const;
  std::vector<hash::Leaf> leaves() const;  // of all parts, in order
};

// Where leaf number `leaf` of all lies: "gradient of …, elements 0 to 4095".
std::string place_of(const LaneEvidence& evidence, std::size_t leaf);

}  // namespace lockstep::lane
