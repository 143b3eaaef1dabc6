#include "conformance/document.h"

#include <bit>

namespace lockstep::conformance {
namespace {

std::uint32_t word_of(float x) {
  return x != x ? 0x7fc00000u : std::bit_cast<std::uint32_t>(x);
}
std::uint64_t word_of(double x) {
  return x != x ? 0x7ff8000000000000u : std::bit_cast<std::uint64_t>(x);
}
std::uint8_t word_of(std::uint8_t x) {
  return x;
}
std::uint32_t word_of(std::uint32_t x) {
  return x;
}
std::uint64_t word_of(std::uint64_t x) {
  return x;
}
std::uint64_t word_of(std::int64_t x) {
  return static_cast<std::uint64_t>(x);
}

}  // namespace

std::int64_t count(const Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  return n;
}

Case::Case(Json& cases, const std::string& operation, const std::string& what) : cases_(cases) {
  case_["operation"] = operation;
  case_["case"] = what;
  case_["parameters"] = Json::object();
  case_["inputs"] = Json::object();
  case_["outputs"] = Json::object();
}

Case::~Case() {
  case_["sha256"] = hash::sha256(std::as_bytes(std::span(hashed_))).hex();
  cases_.push_back(std::move(case_));
}

float Case::parameter(const std::string& key, float value) {
  case_["parameters"][key] = {{"f32", hex(word_of(value))}};
  return value;
}

double Case::parameter(const std::string& key, double value) {
  case_["parameters"][key] = {{"f64", hex(word_of(value))}};
  return value;
}

// FNV-1a of the names: a new case moves no other's inputs.
std::uint32_t Case::seed(const std::string& key) const {
  std::uint32_t h = 0x811c9dc5;
  for (const std::string& part : {case_["operation"].get<std::string>(), std::string("/"),
                                  case_["case"].get<std::string>(), std::string("/"), key}) {
    for (const char c : part) h = (h ^ static_cast<std::uint8_t>(c)) * 0x01000193u;
  }
  return h;
}

Floats Case::input(const std::string& key, Make make, const Shape& shape) {
  const std::int64_t n = count(shape);
  const std::uint32_t s = seed(key);
  Json description = {{"type", "f32"}, {"shape", shape}, {"make", name(make)}};
  if (make == Make::kSpecials) {
    description["each"] = 1;
  } else {
    description["seed"] = s;
  }
  case_["inputs"][key] = description;
  Floats values;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(element(make, s, static_cast<std::uint32_t>(i)));
  }
  return values;
}

Floats Case::each(const std::string& key, std::int64_t times, const Shape& shape) {
  const Shape flat = {static_cast<std::int64_t>(specials().size()) * times};
  Floats values;
  for (const std::uint32_t bits : specials()) {
    for (std::int64_t i = 0; i < times; ++i) values.push_back(std::bit_cast<float>(bits));
  }
  case_["inputs"][key] = {{"type", "f32"},
                          {"shape", shape.empty() ? flat : shape},
                          {"make", "specials"},
                          {"each", times}};
  return values;
}

Floats Case::literal(const std::string& key, const std::vector<std::uint32_t>& bits,
                     const Shape& shape) {
  const Shape flat = {static_cast<std::int64_t>(bits.size())};
  Floats values;
  Json words = Json::array();
  for (const std::uint32_t b : bits) {
    words.push_back(hex(b));
    values.push_back(std::bit_cast<float>(b));
  }
  case_["inputs"][key] = {
      {"type", "f32"}, {"shape", shape.empty() ? flat : shape}, {"values", words}};
  return values;
}

Doubles Case::input64(const std::string& key, double scale, std::int64_t n) {
  const std::uint32_t s = seed(key);
  case_["inputs"][key] = {{"type", "f64"},
                          {"shape", {n}},
                          {"make", "unit"},
                          {"scale", hex(word_of(scale))},
                          {"seed", s}};
  Doubles values;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(element64(scale, s, static_cast<std::uint32_t>(i)));
  }
  return values;
}

Doubles Case::literal64(const std::string& key, const Doubles& values) {
  Json words = Json::array();
  for (const double x : values) words.push_back(hex(word_of(x)));
  case_["inputs"][key] = {{"type", "f64"}, {"shape", {values.size()}}, {"values", words}};
  return values;
}

std::vector<std::uint8_t> Case::bytes(const std::string& key, std::int64_t n) {
  case_["inputs"][key] = {{"type", "u8"}, {"shape", {n}}, {"make", "count"}};
  std::vector<std::uint8_t> values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(static_cast<std::uint8_t>(i % 256));
  return values;
}

Bytes Case::drawn_bytes(const std::string& key, std::int64_t n) {
  const std::uint32_t s = seed(key);
  case_["inputs"][key] = {{"type", "u8"}, {"shape", {n}}, {"make", "bits"}, {"seed", s}};
  Bytes values;
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(static_cast<std::byte>(word(s, static_cast<std::uint32_t>(i))));
  }
  return values;
}

template <class Word, class Values>
void Case::words(const std::string& key, const char* type, const Values& values) {
  Json start = Json::array();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Word word = word_of(values[i]);
    if (i < 4) start.push_back(hex(word));
    for (std::size_t b = 0; b < sizeof(Word); ++b) {
      hashed_.push_back(static_cast<std::uint8_t>(std::uint64_t{word} >> (8 * b)));
    }
  }
  case_["outputs"][key] = {{"type", type}, {"count", values.size()}, {"starts", start}};
}

void Case::output(const std::string& key, const Floats& values) {
  words<std::uint32_t>(key, "f32", values);
}
void Case::output(const std::string& key, const Doubles& values) {
  words<std::uint64_t>(key, "f64", values);
}
void Case::output(const std::string& key, const std::vector<std::uint8_t>& values) {
  words<std::uint8_t>(key, "u8", values);
}
void Case::output(const std::string& key, const std::vector<std::uint32_t>& values) {
  words<std::uint32_t>(key, "u32", values);
}
void Case::output(const std::string& key, const std::vector<std::uint64_t>& values) {
  words<std::uint64_t>(key, "u64", values);
}
void Case::output(const std::string& key, const std::vector<std::int64_t>& values) {
  words<std::uint64_t>(key, "i64", values);
}

void Case::output(const std::string& key, const std::vector<hash::Digest>& values) {
  Json start = Json::array();
  for (const hash::Digest& digest : values) {
    if (start.size() < 4) start.push_back(digest.hex());
    for (const std::byte b : digest.bytes) hashed_.push_back(static_cast<std::uint8_t>(b));
  }
  case_["outputs"][key] = {{"type", "digest"}, {"count", values.size()}, {"starts", start}};
}

void Case::output(const std::string& key, const Floats& values, const Shape& shape,
                  const hash::Digest& digest) {
  output(key, values);
  case_["outputs"][key]["shape"] = shape;
  case_["outputs"][key]["digest"] = digest.hex();
}

}  // namespace lockstep::conformance
