// How a series of values is drawn. If it has more points than the picture has columns: the lowest,
// highest and mean value of each column.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lockstep::report {

struct Point {
  double x = 0;
  double y = 0;       // may be NaN or infinite
  double weight = 1;  // in a mean, positive
};

// Values beyond this are drawn as if they were infinite: differences stay finite.
inline constexpr double kLargest = 1e300;

struct Column {
  double first = 0, last = 0;  // x of its first and last point
  double low = 0, high = 0, mean = 0;
  std::int64_t points = 0;  // finite ones
  double x() const { return first + (last - first) / 2; }
};

struct Envelope {
  std::vector<std::vector<Column>> pieces;  // one line each, with gaps between them
  std::vector<double> odd;                  // x of columns with values that are not finite
  std::int64_t not_finite = 0;              // values
  bool binned = false;                      // a column may have several points
  double low = 0, high = 0;                 // of all finite values; 0 if there is none
  bool empty() const { return pieces.empty(); }
};

enum class Gaps { kNone, kByDistance };

// points: by rising x. A piece ends at a value that is not finite and, with kByDistance, if the
// next point is more than twice as far away as usual.
Envelope envelope(std::span<const Point> points, std::size_t columns, Gaps gaps);

// Round numbers (1, 2 or 5 times a power of ten) within [low, high], at most `most` + 1 of them.
std::vector<double> ticks(double low, double high, int most);
// The same for a logarithmic axis, 0 < low < high.
std::vector<double> log_ticks(double low, double high);

// With as many digits as tell the ticks of one axis apart: "0.49998", "0.50000"; with an exponent
// where that is shorter.
std::vector<std::string> tick_labels(const std::vector<double>& ticks);
std::vector<std::string> log_tick_labels(const std::vector<double>& ticks);

}  // namespace lockstep::report
