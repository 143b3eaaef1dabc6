#include <limits>

#include "conformance/document.h"
#include "lockstep/numerics/host_math.h"

namespace lockstep::conformance {
namespace {

namespace host = lockstep::numerics::host;

const Doubles kSpecials = {0.0,
                           -0.0,
                           1.0,
                           -1.0,
                           0x1p-1074,
                           0x1p-1022,
                           0x1.fffffffffffffp1023,
                           -0x1.fffffffffffffp1023,
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::quiet_NaN(),
                           0x1.6a09e667f3bcdp-1,
                           0x1.6a09e667f3bccp-1,
                           709.78271289338397,
                           709.7827128933841,
                           710.5,
                           -745.13321910194122,
                           -745.2,
                           -746.5,
                           0.5,
                           10.0};

template <class F>
void add(Json& cases, const char* operation, F&& f, const Doubles& literal, double scale,
         bool positive) {
  const auto run = [&](Case& c, const Doubles& x) {
    Doubles y;
    for (const double value : x) y.push_back(f(value));
    c.output("y", y);
  };
  {
    Case c(cases, operation, "specials");
    run(c, c.literal64("x", literal));
  }
  Case c(cases, operation, positive ? "squares of uniform values" : "uniform values");
  Doubles x = c.input64("x", scale, 509);
  if (positive) {
    for (double& value : x) value *= value;
  }
  run(c, x);
}

}  // namespace

void add_host_cases(Json& cases) {
  const Doubles angles = {0.0, -0.0, 0x1p-30, 0.5, -1.0, 0x1.921fb54442d18p+0, 3.0, 100.0, -0x1p20};
  add(cases, "host_exp", host::exp, kSpecials, 0x1p9, false);
  add(cases, "host_log", host::log, kSpecials, 0x1p8, true);
  add(cases, "host_sqrt", host::sqrt, kSpecials, 0x1p8, true);
  add(cases, "host_sin", host::sin, angles, 0x1p12, false);
  add(cases, "host_cos", host::cos, angles, 0x1p12, false);
  for (const double y : {0.0, 1.0, 0.5, -0.5, 2.0, 1000.0, 1e5, -3.25}) {
    Case c(cases, "host_pow", "to the " + std::to_string(y));
    c.parameter("y", y);
    Doubles x = c.input64("x", 1.0, 61);
    for (double& value : x) value *= value;  // x = u * u
    Doubles out;
    for (const double value : x) out.push_back(host::pow(value, y));
    c.output("out", out);
  }
  Case c(cases, "host_pow", "specials");
  const double y = c.parameter("y", 0x1.8p0);
  Doubles out;
  for (const double x : c.literal64("x", kSpecials)) out.push_back(host::pow(x, y));
  c.output("out", out);
}

}  // namespace lockstep::conformance
