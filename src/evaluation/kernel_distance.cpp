#include "evaluation/pairs.h"
#include "lockstep/evaluation/distances.h"
#include "lockstep/numerics/spec/tree.h"

namespace lockstep::evaluation {
namespace {

// The sum of the kernel over pairs: in a row from the first column on, then the tree over rows.
// Without the pairs of a sample with itself, if `same` is a set's with itself.
double kernel_sum(const Columns& rows, const Columns& columns, bool same, numerics::Cpu& cpu) {
  std::vector<double> sums(rows.count());
  const auto width = static_cast<double>(columns.width());
  for_pairs(
      rows, columns, cpu, [](double x, double y) { return x * y; },
      [&](std::size_t i, const std::vector<double>& dots) {
        double sum = 0;
        for (std::size_t j = 0; j < dots.size(); ++j) {
          if (same && i == j) continue;
          const double u = dots[j] / width + 1;
          sum += (u * u) * u;
        }
        sums[i] = sum;
      });
  return numerics::tree_fold(
      0, static_cast<std::int64_t>(sums.size()),
      [&](std::int64_t i) { return sums[static_cast<std::size_t>(i)]; },
      [](double a, double b) { return a + b; });
}

}  // namespace

double kernel_distance(const Features& real, const Features& generated, numerics::Cpu& cpu) {
  LOCKSTEP_ASSERT(real.count() >= 2 && generated.count() >= 2);
  const Columns x(real), y(generated);
  const auto n = static_cast<double>(real.count()), m = static_cast<double>(generated.count());
  const double inside =
      kernel_sum(x, x, true, cpu) / (n * (n - 1)) + kernel_sum(y, y, true, cpu) / (m * (m - 1));
  return inside - 2 * (kernel_sum(x, y, false, cpu) / (n * m));
}

}  // namespace lockstep::evaluation
