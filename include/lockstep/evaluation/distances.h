// How far generated samples are from real ones, by their features. All arithmetic is binary64 in an
// order that docs/evaluation.md fixes, without a fused operation. Both sets have the same width.
//
// Bits: the features. Threads share rows of results, never a sum.
#pragma once

#include "lockstep/evaluation/features.h"
#include "lockstep/numerics/cpu.h"

namespace lockstep::evaluation {

// Frechet distance of the normal distributions with the sets' means and covariances (Dowson &
// Landau 1982; Heusel et al. 2017): |m - n|^2 + tr(C + D - 2 (C D)^(1/2)), covariances with
// 1 / (count - 1). Each set has more samples than features: LOCKSTEP_ASSERTed.
double frechet_distance(const Features& real, const Features& generated);

// Squared maximum mean discrepancy with the kernel (x.y / width + 1)^3, unbiased, over all pairs
// (Binkowski et al. 2018, equation 4: KID). Below 0 where chance makes it so. Two samples or more
// each: LOCKSTEP_ASSERTed.
double kernel_distance(const Features& real, const Features& generated, numerics::Cpu& cpu);

// Neighbours that make a sample's ball: its radius is the distance to the k-th nearest other sample
// of its set. What lies at the radius is inside.
inline constexpr std::int64_t kOfPrecision = 3;  // Kynkaanniemi et al. 2019
inline constexpr std::int64_t kOfDensity = 5;    // Naeem et al. 2020

struct Neighbourhoods {
  double precision = 0;  // share of generated samples inside any real sample's ball
  double recall = 0;     // share of real samples inside any generated sample's ball
  double density = 0;    // real balls around a generated sample, mean, over kOfDensity
  double coverage = 0;   // share of real samples with a generated one inside their ball
};

// More than kOfDensity samples each: LOCKSTEP_ASSERTed.
Neighbourhoods neighbourhoods(const Features& real, const Features& generated, numerics::Cpu& cpu);

}  // namespace lockstep::evaluation
