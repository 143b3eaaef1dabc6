// Private: a number for each pair of samples of two sets, a row at a time.
#pragma once

#include <algorithm>

#include "lockstep/core/error.h"
#include "lockstep/evaluation/features.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::evaluation {

// Feature by feature, so that the samples of a feature are neighbours in memory.
class Columns {
 public:
  explicit Columns(const Features& features)
      : count_(static_cast<std::size_t>(features.count())),
        width_(static_cast<std::size_t>(features.width)),
        values_(count_ * width_) {
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t f = 0; f < width_; ++f)
        values_[f * count_ + i] = double{features.values[i * width_ + f]};
  }

  // out[j] = the sum over features, in order from 0, of term(sample i of `rows`, sample j here).
  template <class Term>
  void row(const Columns& rows, std::size_t i, std::vector<double>& out, const Term& term) const {
    out.assign(count_, 0.0);
    for (std::size_t first = 0; first < count_; first += kBlock) {
      const std::size_t last = std::min(count_, first + kBlock);
      for (std::size_t f = 0; f < width_; ++f) {
        const double x = rows.values_[f * rows.count_ + i];
        const double* const y = values_.data() + f * count_;
        for (std::size_t j = first; j < last; ++j) out[j] += term(x, y[j]);
      }
    }
  }

  std::size_t count() const { return count_; }
  std::size_t width() const { return width_; }

 private:
  static constexpr std::size_t kBlock = 512;  // of sums that stay in the first-level cache

  std::size_t count_, width_;
  std::vector<double> values_;  // [width][count]
};

// look(i, row) for each sample i of `rows`: row[j] for each sample j of `columns`. Threads share
// the rows.
template <class Term, class Look>
void for_pairs(const Columns& rows, const Columns& columns, numerics::Cpu& cpu, const Term& term,
               const Look& look) {
  LOCKSTEP_ASSERT(rows.width() == columns.width());
  cpu.parallel_for(static_cast<std::int64_t>(rows.count()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     std::vector<double> row;
                     for (std::int64_t i = begin; i < end; ++i) {
                       columns.row(rows, static_cast<std::size_t>(i), row, term);
                       look(static_cast<std::size_t>(i), row);
                     }
                   });
}

}  // namespace lockstep::evaluation
