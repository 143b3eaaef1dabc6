#include "conformance/device.h"
#include "conformance/document.h"
#include "lockstep/numerics/philox.h"
#include "lockstep/numerics/tree.h"

namespace lockstep::conformance {
namespace {

using namespace lockstep::numerics;

struct Draw {
  const char* what;
  Stream stream;
  std::uint64_t position;
};
const Draw kDraws[] = {
    {"zero", {}, 0}, {"digits of pi", {{0x243f6a88, 0x85a308d3}, 0x13198a2e}, 0x0370734400000007}};

Draw draw(Case& c, const Draw& d) {
  c.parameter("key0", d.stream.key[0]);
  c.parameter("key1", d.stream.key[1]);
  c.parameter("micro", d.stream.micro);
  c.parameter("position", d.position);
  return d;
}

void add_draws(Json& cases, const Draw& d) {
  constexpr std::int64_t n = 1021;  // odd, no multiple of 4
  {
    Case c(cases, "philox_bits", d.what);
    draw(c, d);
    std::vector<std::uint32_t> out(static_cast<std::size_t>(c.parameter("n", n)));
    device().fill_bits(d.stream, d.position, n, out.data());
    c.output("out", out);
  }
  {
    Case c(cases, "philox_uniform", d.what);
    draw(c, d);
    Floats out(static_cast<std::size_t>(c.parameter("n", n)));
    device().fill_uniform(d.stream, d.position, n, out.data());
    c.output("out", out);
  }
  {
    Case c(cases, "philox_normal", d.what);
    draw(c, d);
    Floats out(static_cast<std::size_t>(c.parameter("n", n)));
    device().fill_normal(d.stream, d.position, 1, n, out.data());
    c.output("out", out);
  }
  Case c(cases, "philox_below", d.what);
  draw(c, d);
  const auto word = c.parameter("word", 2);
  std::vector<std::uint32_t> out;
  for (const std::uint32_t bound :
       c.parameter("bounds",
                   std::vector<std::uint32_t>{1, 2, 3, 10, 1000, 60000, 0x80000000, 0xffffffff})) {
    out.push_back(draw_below(d.stream, d.position, word, bound));
  }
  c.output("out", out);
}

// The positions from the first on, each with a draw of its own; two words of the counter hold one.
void add_rows_of_normals(Json& cases) {
  for (const std::int64_t n : {37, 1025}) {
    Case c(cases, "philox_normal", "5 rows of " + std::to_string(n) + ", across 2^32");
    const Draw d = draw(c, {"", {{7, 11}, 3}, 0xfffffffe});
    const auto rows = c.parameter("rows", std::int64_t{5});
    c.parameter("n", n);
    Floats out(static_cast<std::size_t>(rows * n));
    device().fill_normal(d.stream, d.position, rows, n, out.data());
    c.output("out", out);
  }
}

void add_masks(Json& cases) {
  for (const float rate : {0.1F, 0.0F}) {
    Case c(cases, "philox_mask", "rate " + std::to_string(rate).substr(0, 3));
    const Draw d = draw(c, {"", {{7, 11}, 0}, 0xfffffffe});
    const auto rows = c.parameter("rows", std::int64_t{3});
    const auto n = c.parameter("n", std::int64_t{1025});
    c.parameter("rate", rate);
    const float kept = c.parameter("kept", 1.125F);
    Floats out(static_cast<std::size_t>(rows * n));
    device().fill_mask(d.stream, d.position, rows, n, rate, kept, out.data());
    c.output("out", out);
  }
}

void add_tree_sums(Json& cases) {
  for (const std::int64_t rows : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
    Case c(cases, "tree_sum", std::to_string(rows) + " rows");
    const Floats x = c.input("x", Make::kSparse, {rows, 67});
    std::vector<const float*> pointers;
    for (std::int64_t i = 0; i < rows; ++i) pointers.push_back(x.data() + i * 67);
    Floats out(67);
    device().tree_sum(pointers.data(), rows, 67, out.data());
    c.output("out", out);
  }
}

// first and count of every maximal node, for every block of lanes.
void add_subtrees(Json& cases) {
  for (const std::int64_t total : {1, 2, 5, 8, 13}) {
    Case c(cases, "maximal_subtrees", "every block of " + std::to_string(total) + " lanes");
    c.parameter("total", total);
    std::vector<std::int64_t> out;
    for (std::int64_t first = 0; first < total; ++first) {
      for (std::int64_t count = 1; first + count <= total; ++count) {
        for (const Subtree& node : maximal_subtrees(total, first, count)) {
          out.push_back(node.first);
          out.push_back(node.count);
        }
      }
    }
    c.output("out", out);
  }
}

}  // namespace

void add_random_cases(Json& cases) {
  for (const Draw& d : kDraws) add_draws(cases, d);
  add_rows_of_normals(cases);
  add_masks(cases);
  add_tree_sums(cases);
  add_subtrees(cases);
}

}  // namespace lockstep::conformance
