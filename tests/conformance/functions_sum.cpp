// One number for each correctly rounded function's results on all 2^32 floats:
//   functions_sum ISA [FUNCTION]...
// Compared with the column "sum" of docs/evidence.md: the same results without the oracle, so it
// also runs under emulation.
#include <cstdio>
#include <string>
#include <vector>

#include "conformance/all_floats.h"
#include "lockstep/numerics/isa.h"
#include "support/cpu.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc < 2) return 2;
  numerics::use_isa(numerics::isa_named(argv[1]));
  const std::vector<std::string> wanted(argv + 2, argv + argc);
  std::vector<float> xs(conformance::kChunk), ys(xs.size());
  for (const auto& [name, op] : conformance::kCorrectlyRounded) {
    bool run = wanted.empty();
    for (const std::string& w : wanted) run = run || w == name;
    if (!run) continue;
    std::uint64_t sum = 0;
    for (std::uint64_t first = 0; first < conformance::kAllFloats; first += xs.size()) {
      conformance::fill_chunk(first, xs);
      numerics::cpu().unary(op, static_cast<std::int64_t>(xs.size()), xs.data(), ys.data());
      sum += conformance::sum_of_chunk(first, ys);
    }
    std::printf("%s %s %016llx\n", argv[1], name, static_cast<unsigned long long>(sum));
    std::fflush(stdout);
  }
  return 0;
}
