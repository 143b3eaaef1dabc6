// All 2^32 floats through the six functions, on every instruction set and as GPUs compute them,
// against MPFR:
//   numerics_functions_all [FUNCTION]...
// Prints a row of docs/evidence.md a function; exits 1 if any result is wrong. Tens of minutes of
// CPU time; all cores.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "conformance/all_floats.h"
#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/spec/functions.h"
#include "numerics/float_pairs.h"
#include "numerics/oracle.h"
#include "support/cpu.h"

namespace {

using namespace lockstep;
using numerics::oracle::Function;
namespace scalar = numerics::scalar;

const Function kFunctions[] = {
    {"exp", scalar::exp, mpfr_exp, std::exp},     {"log", scalar::log, mpfr_log, std::log},
    {"sin", scalar::sin, mpfr_sin, std::sin},     {"cos", scalar::cos, mpfr_cos, std::cos},
    {"tanh", scalar::tanh, mpfr_tanh, std::tanh}, {"erf", scalar::erf, mpfr_erf, std::erf}};

// The exact results of a chunk, and how many of them MPFR had to decide.
std::uint64_t exact_chunk(const Function& function, const std::vector<float>& xs,
                          std::vector<float>& exact) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::uint64_t> asked{0};
  std::vector<std::thread> threads;
  constexpr std::size_t kPiece = 1 << 16;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::size_t from = next.fetch_add(kPiece); from < xs.size();
           from = next.fetch_add(kPiece)) {
        for (std::size_t i = from; i < std::min(xs.size(), from + kPiece); ++i) {
          const auto decided = numerics::oracle::by_double(function, xs[i]);
          if (!decided) ++asked;
          exact[i] = decided ? *decided : numerics::oracle::by_mpfr(function, xs[i]);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return asked;
}

using Results = std::function<void(const std::vector<float>& xs, std::vector<float>& ours)>;

// A way to compute a function, and how many of its results were wrong.
struct Way {
  std::string name;
  Results compute;
  std::uint64_t wrong = 0;
};

Results one_by_one(float (*function)(float)) {
  return [function](const std::vector<float>& xs, std::vector<float>& ours) {
    numerics::cpu().parallel_for(
        static_cast<std::int64_t>(xs.size()), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
          for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
            ours[i] = function(xs[i]);
        });
  };
}

std::vector<Way> ways(numerics::Unary op) {
  std::vector<Way> ways;
  for (const numerics::Isa isa : numerics::usable_isas())
    ways.push_back({std::string(numerics::name(isa)),
                    [=](const std::vector<float>& xs, std::vector<float>& ours) {
                      numerics::use_isa(isa);
                      numerics::cpu().unary(op, static_cast<std::int64_t>(xs.size()), xs.data(),
                                            ours.data());
                    }});
  if (op == numerics::Unary::kExp)
    ways.push_back({"float pairs", one_by_one(numerics::with_pairs::exp)});
  if (op == numerics::Unary::kTanh)
    ways.push_back({"float pairs", one_by_one(numerics::with_pairs::tanh)});
  return ways;
}

// Compares and counts; prints the first few.
std::uint64_t count_wrong(const char* name, const std::string& way, const std::vector<float>& xs,
                          const std::vector<float>& ours, const std::vector<float>& exact) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(ours[i]) == std::bit_cast<std::uint32_t>(exact[i])) continue;
    if (++wrong <= 5) {
      std::printf("%s: %s(%a) = %a, should be %a\n", way.c_str(), name, double{xs[i]},
                  double{ours[i]}, double{exact[i]});
    }
  }
  return wrong;
}

bool try_all(const Function& function, numerics::Unary op) {
  std::vector<Way> all = ways(op);
  std::vector<float> xs(conformance::kChunk), exact(xs.size()), ours(xs.size());
  std::uint64_t asked = 0, sum = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t first = 0; first < conformance::kAllFloats; first += xs.size()) {
    conformance::fill_chunk(first, xs);
    asked += exact_chunk(function, xs, exact);
    sum += conformance::sum_of_chunk(first, exact);
    for (Way& way : all) {
      way.compute(xs, ours);
      way.wrong += count_wrong(function.name, way.name, xs, ours, exact);
    }
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::printf("| %s | %llu |", function.name, (unsigned long long)conformance::kAllFloats);
  bool right = true;
  for (const Way& way : all) {
    std::printf(" %s: %llu", way.name.c_str(), (unsigned long long)way.wrong);
    right = right && way.wrong == 0;
  }
  std::printf(" | %llu | %016llx | %.0f s |\n", (unsigned long long)asked, (unsigned long long)sum,
              spent.count());
  std::fflush(stdout);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  numerics::use_threads(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  std::printf("| function | inputs | wrong | decided by MPFR | sum | time |\n");
  std::printf("| --- | --- | --- | --- | --- | --- |\n");
  bool right = true;
  for (std::size_t f = 0; f < std::size(kFunctions); ++f) {
    const std::string name = kFunctions[f].name;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) continue;
    right = try_all(kFunctions[f], conformance::kCorrectlyRounded[f].op) && right;
  }
  return right ? 0 : 1;
}
