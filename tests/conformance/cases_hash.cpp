#include <string>

#include "conformance/document.h"
#include "lockstep/hash/leaf.h"
#include "lockstep/hash/merkle.h"

namespace lockstep::conformance {

void add_hash_cases(Json& cases) {
  for (const std::int64_t bytes : {0, 1, 4, 7, 8, 9, 100, 16383, 16384, 16385, 3 * 16384 + 20}) {
    Case c(cases, "leaves", std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"));
    const Bytes x = c.drawn_bytes("x", bytes);
    std::vector<hash::Leaf> leaves(hash::leaf_count(x.size()));
    hash::leaf_hashes(x, leaves);
    std::vector<std::uint64_t> out;
    for (const hash::Leaf& leaf : leaves) out.insert(out.end(), {leaf.a, leaf.b});
    c.output("leaves", out);
  }
  for (const std::int64_t bytes : {0, 1, 65536, 65537, 4 * 65536, 6 * 65536 - 1}) {
    Case c(cases, "hash_tree", std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"));
    c.output("root", std::vector<hash::Digest>{hash::tree_digest(c.drawn_bytes("x", bytes))});
  }
}

}  // namespace lockstep::conformance
