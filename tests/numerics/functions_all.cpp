// Every float through the six functions, against MPFR: `functions_all [first function] [last]`.
// Minutes; part of the long tests. Prints the wrong ones, exits 1 if there are any.
#include <cstdio>
#include <cstdlib>

#include "lockstep/numerics/scalar.h"
#include "numerics/oracle.h"

namespace {

using lockstep::numerics::oracle::Function;
namespace scalar = lockstep::numerics::scalar;

const Function kFunctions[] = {
    {"exp", scalar::exp, mpfr_exp, std::exp},     {"log", scalar::log, mpfr_log, std::log},
    {"sin", scalar::sin, mpfr_sin, std::sin},     {"cos", scalar::cos, mpfr_cos, std::cos},
    {"tanh", scalar::tanh, mpfr_tanh, std::tanh}, {"erf", scalar::erf, mpfr_erf, std::erf}};

}  // namespace

int main(int argc, char** argv) {
  const int first = argc > 1 ? std::atoi(argv[1]) : 0;
  const int last = argc > 2 ? std::atoi(argv[2]) : 5;
  long wrong = 0;
  for (int f = first; f <= last; ++f) {
    long wrong_here = 0;
    std::uint32_t bits = 0;
    do {
      const float x = std::bit_cast<float>(bits);
      const float ours = kFunctions[f].ours(x);
      const float exact = lockstep::numerics::oracle::rounded(kFunctions[f], x);
      if (std::bit_cast<std::uint32_t>(ours) != std::bit_cast<std::uint32_t>(exact) &&
          wrong_here++ < 10) {
        std::printf("%s(%a) = %a, should be %a\n", kFunctions[f].name, x, ours, exact);
      }
    } while (++bits != 0);
    std::printf("%s: %ld wrong\n", kFunctions[f].name, wrong_here);
    std::fflush(stdout);
    wrong += wrong_here;
  }
  return wrong == 0 ? 0 : 1;
}
