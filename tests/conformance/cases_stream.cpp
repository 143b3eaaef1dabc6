#include <string>

#include "conformance/document.h"
#include "lockstep/data/order.h"
#include "lockstep/numerics/stream.h"

namespace lockstep::conformance {
namespace {

void add_key(Json& cases, std::uint64_t seed, const std::string& stream) {
  Case c(cases, "stream_key",
         "seed " + std::to_string(seed) + ", " + (stream.empty() ? "no name" : stream));
  c.parameter("seed", seed);
  c.parameter("stream", stream);
  const numerics::PhiloxKey key = numerics::stream(seed, stream).key;
  c.output("key", std::vector<std::uint32_t>{key[0], key[1]});
}

// Samples of `count` draws from `first` on.
void add_order(Json& cases, std::int64_t n, std::int64_t first, std::int64_t count) {
  Case c(cases, "sample_order",
         std::to_string(n) + (n == 1 ? " sample" : " samples") +
             (first == 0 ? "" : ", from draw " + std::to_string(first)));
  const auto seed = c.parameter("seed", std::uint64_t{0xfedcba9876543210u});
  const data::Order order(numerics::stream(seed, "data/order"), c.parameter("n", n));
  c.parameter("first", first);
  c.parameter("count", count);
  std::vector<std::int64_t> samples;
  for (std::int64_t i = 0; i < count; ++i) {
    samples.push_back(order.sample_at(Draw(first + i)).value);
  }
  c.output("samples", samples);
}

}  // namespace

void add_stream_cases(Json& cases) {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{7}, ~std::uint64_t{0}}) {
    add_key(cases, seed, "data/order");
  }
  add_key(cases, 7, "");
  add_key(cases, 7, "init/model/down0.block1.residual.conv1.weight");
  for (const std::int64_t n : {1, 2, 3, 4, 5, 17, 100, 128}) add_order(cases, n, 0, 3 * n + 1);
  add_order(cases, 60000, 0, 300);
  add_order(cases, 60000, 60000 - 50, 100);                      // over an epoch's end
  add_order(cases, 10, 10 * ((std::int64_t{1} << 33) + 5), 20);  // an epoch of two words
  add_order(cases, (std::int64_t{1} << 40) + 1, 0, 20);          // halves of 20 and 21 bits
}

}  // namespace lockstep::conformance
