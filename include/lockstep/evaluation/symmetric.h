// Eigenvalues and eigenvectors of real symmetric matrices, in binary64.
#pragma once

#include <cstdint>
#include <vector>

namespace lockstep::evaluation {

// Square, [n][n], rows first.
using Matrix = std::vector<double>;

struct Eigen {
  std::vector<double> values;  // as they come, not sorted
  Matrix vectors;              // column k belongs to values[k]; of length one
};

// Cyclic Jacobi (Golub & Van Loan 2013, section 8.5; the updates of Rutishauser 1966), operation by
// operation as docs/evaluation.md says. Error(kBug) for a matrix that does not become diagonal,
// such as one with a NaN. Bits: matrix.
Eigen eigen(std::int64_t n, Matrix matrix);
// The same values without the vectors.
std::vector<double> eigenvalues(std::int64_t n, Matrix matrix);

}  // namespace lockstep::evaluation
