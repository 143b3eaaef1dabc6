#include "evaluation/pairs.h"
#include "lockstep/evaluation/distances.h"

namespace lockstep::evaluation {
namespace {

double squared_difference(double x, double y) {
  const double d = x - y;
  return d * d;
}

// Squared radii of each sample's balls: to its 3rd and to its 5th nearest other one.
struct Radii {
  std::vector<double> of_precision, of_density;
};

Radii radii_of(const Columns& set, numerics::Cpu& cpu) {
  Radii radii{std::vector<double>(set.count()), std::vector<double>(set.count())};
  for_pairs(set, set, cpu, squared_difference, [&](std::size_t i, std::vector<double>& row) {
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
    std::partial_sort(row.begin(), row.begin() + kOfDensity, row.end());
    radii.of_precision[i] = row[kOfPrecision - 1];
    radii.of_density[i] = row[kOfDensity - 1];
  });
  return radii;
}

double share(const std::vector<std::int64_t>& counts, std::int64_t of) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) sum += count;
  return static_cast<double>(sum) / static_cast<double>(of);
}

}  // namespace

Neighbourhoods neighbourhoods(const Features& real, const Features& generated, numerics::Cpu& cpu) {
  LOCKSTEP_ASSERT(real.count() > kOfDensity && generated.count() > kOfDensity);
  const Columns x(real), y(generated);
  const Radii of_real = radii_of(x, cpu), of_generated = radii_of(y, cpu);
  std::vector<std::int64_t> precise(y.count()), recalled(x.count()), around(x.count()),
      covered(x.count());
  for_pairs(x, y, cpu, squared_difference, [&](std::size_t i, const std::vector<double>& row) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      if (row[j] <= of_generated.of_precision[j]) recalled[i] = 1;
      if (row[j] <= of_real.of_density[i]) ++around[i];
    }
    covered[i] = around[i] > 0;
  });
  for_pairs(y, x, cpu, squared_difference, [&](std::size_t j, const std::vector<double>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] <= of_real.of_precision[i]) precise[j] = 1;
  });
  return {.precision = share(precise, generated.count()),
          .recall = share(recalled, real.count()),
          .density = share(around, kOfDensity * generated.count()),
          .coverage = share(covered, real.count())};
}

}  // namespace lockstep::evaluation
