// Speed of matrix products and convolutions, GFLOP/s on one thread, for each instruction set of
// this CPU: kernels_bench [substring of a line's name]. Best of some repetitions: neighbours only
// slow down.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lockstep/numerics/isa.h"
#include "support/cpu.h"

namespace {
using namespace lockstep::numerics;

struct Measurement {
  std::string name;
  double flops;
  std::function<void()> run;
};

std::vector<float> values(std::int64_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::uint32_t state = 1;
  for (float& x : v) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
  }
  return v;
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double seconds(const std::function<void()>& f) {
  const double start = cpu_seconds();
  f();
  return cpu_seconds() - start;
}

double gigaflops(const Measurement& m) {
  double best = seconds(m.run), spent = best;
  for (int i = 0; i < 3 || (spent < 0.3 && i < 50); ++i) {
    const double s = seconds(m.run);
    spent += s;
    if (s < best) best = s;
  }
  return m.flops / best * 1e-9;
}

void add_gemm(std::vector<Measurement>& list, const std::string& name, std::int64_t batch,
              std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_b) {
  struct Data {
    std::vector<float> a, b, c;
  };
  auto data = std::make_shared<Data>();
  list.push_back({"gemm " + name, 2.0 * static_cast<double>(batch * m * n * k), [=] {
                    if (data->a.empty()) {
                      *data = {values(batch * m * k), values(batch * k * n), values(batch * m * n)};
                    }
                    const float* b = data->b.data();
                    cpu().gemm(batch, m, n, k, {data->a.data(), k, 1, m * k},
                               transpose_b ? Operand{b, 1, k, k * n} : Operand{b, n, 1, k * n},
                               nullptr, {data->c.data(), n, m * n});
                  }});
}

void add_conv(std::vector<Measurement>& list, const ConvShape& s) {
  const std::string name = std::to_string(s.kh) + "x" + std::to_string(s.kw) + "/" +
                           std::to_string(s.stride) + " " + std::to_string(s.in) + "-" +
                           std::to_string(s.out) + " @" + std::to_string(s.h) + " n" +
                           std::to_string(s.n);
  struct Data {
    std::vector<float> x, w, y;
  };
  auto data = std::make_shared<Data>();
  const double flops =
      2.0 * static_cast<double>(s.n * s.out_h() * s.out_w() * s.out * s.kh * s.kw * s.in);
  const LaneBlocks lanes{.samples_per_lane = s.n / 8, .lanes = {8}};
  auto fill = [=] {
    if (!data->x.empty()) return;
    data->x = values(s.n * s.h * s.w * s.in);
    data->w = values(s.kh * s.kw * s.in * s.out);
    data->y = values(s.n * s.out_h() * s.out_w() * s.out);
  };
  list.push_back({"conv " + name + " forward", flops, [=] {
                    fill();
                    cpu().conv2d(s, data->x.data(), data->w.data(), nullptr, data->y.data());
                  }});
  list.push_back({"conv " + name + " input grad", flops, [=] {
                    fill();
                    cpu().conv2d_input_grad(s, data->y.data(), data->w.data(), nullptr,
                                            data->x.data());
                  }});
  list.push_back({"conv " + name + " weight grad", flops, [=] {
                    fill();
                    cpu().conv2d_weight_grad(s, lanes, data->x.data(), data->y.data(),
                                             data->w.data());
                  }});
}

std::vector<Measurement> measurements() {
  std::vector<Measurement> list;
  for (const std::int64_t n : {256, 512, 1024}) {
    add_gemm(list, "cube " + std::to_string(n), 1, n, n, n, false);
  }
  add_gemm(list, "linear 64x512x512", 1, 64, 512, 512, false);
  add_gemm(list, "1x1 12544x32x64", 1, 12544, 32, 64, false);
  add_gemm(list, "attention q k'", 256, 49, 49, 16, true);
  add_gemm(list, "attention p v", 256, 49, 16, 49, false);
  const std::int64_t cases[][7] = {
      // n, size, in, out, kernel, stride, pad
      {64, 28, 32, 32, 3, 1, 1},  {64, 28, 64, 32, 3, 1, 1}, {64, 14, 64, 64, 3, 1, 1},
      {64, 14, 128, 64, 3, 1, 1}, {64, 7, 64, 64, 3, 1, 1},  {64, 7, 128, 128, 3, 1, 1},
      {16, 28, 32, 32, 3, 1, 1},  {16, 7, 64, 64, 3, 1, 1},  {64, 28, 1, 32, 3, 1, 1},
      {64, 28, 32, 1, 3, 1, 1},   {64, 28, 3, 32, 3, 1, 1},  {64, 14, 64, 128, 1, 1, 0},
      {64, 28, 32, 64, 3, 2, 1},  {64, 14, 64, 64, 3, 2, 1}, {64, 16, 64, 128, 4, 2, 1},
      {64, 28, 1, 64, 4, 2, 1}};
  for (const auto& c : cases) {
    add_conv(list, {.n = c[0],
                    .h = c[1],
                    .w = c[1],
                    .in = c[2],
                    .out = c[3],
                    .kh = c[4],
                    .kw = c[4],
                    .stride = c[5],
                    .pad = c[6]});
  }
  return list;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  for (const Measurement& m : measurements()) {
    if (m.name.find(wanted) == std::string::npos) continue;
    std::printf("%-44s", m.name.c_str());
    for (const Isa isa : usable_isas()) {
      if (isa == Isa::kScalar && wanted.empty()) continue;  // slow: only when asked for
      use_isa(isa);
      std::printf("  %s %6.1f", std::string(name(isa)).c_str(), gigaflops(m));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
}
