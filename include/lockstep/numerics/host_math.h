// Double-precision functions for host scalars (schedules, bias correction, embeddings): those of
// spec/binary64.h, the same on every machine; glibc's change bits with the CPU. Error < 2 ulp.
#pragma once

namespace lockstep::numerics::host {

double exp(double x);
double log(double x);  // x > 0; log(0) = -inf, negative: NaN
double sin(double x);  // |x| <= 2^20: Cody-Waite; beyond: Error(kBug)
double cos(double x);
double pow(double x,
           double y);  // exp(y log x) for x > 0 with log in double-double; pow(0, y>0) = 0
double sqrt(double x);
double fma(double a, double b, double c);

}  // namespace lockstep::numerics::host
