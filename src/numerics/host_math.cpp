#include "lockstep/numerics/host_math.h"

#include "lockstep/core/error.h"
#include "lockstep/numerics/spec/binary64.h"

namespace lockstep::numerics::host {
namespace {

void check_angle(double x) {
  LOCKSTEP_ASSERT(x >= -binary64::kMostAngle && x <= binary64::kMostAngle,
                  "sin or cos beyond 2^20");
}

}  // namespace

double exp(double x) {
  return binary64::exp(x);
}

double log(double x) {
  return binary64::log(x);
}

double sin(double x) {
  check_angle(x);
  return binary64::sin(x);
}

double cos(double x) {
  check_angle(x);
  return binary64::cos(x);
}

double pow(double x, double y) {
  return binary64::pow(x, y);
}

double sqrt(double x) {
  return binary64::sqrt(x);
}

double fma(double a, double b, double c) {
  return spec::fma(a, b, c);
}

}  // namespace lockstep::numerics::host
