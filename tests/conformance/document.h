// The conformance document: cases with their inputs, and the hash of what numerics makes of them.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "conformance/vectors.h"
#include "lockstep/hash/sha256.h"

namespace lockstep::conformance {

using Json = nlohmann::ordered_json;
using Shape = std::vector<std::int64_t>;

std::int64_t count(const Shape& shape);

// All its digits.
template <class Word>
std::string hex(Word value) {
  std::string text;
  for (int shift = 8 * static_cast<int>(sizeof(Word)) - 4; shift >= 0; shift -= 4) {
    text += "0123456789abcdef"[(value >> shift) & 15];
  }
  return text;
}

// One case. Inputs and parameters are described as they are made; outputs are hashed in order:
// little-endian, every NaN as the one quiet NaN (its bits are unspecified in most kernels).
class Case {
 public:
  // operation: the name in docs/conformance.md; what: tells cases of one operation apart.
  Case(Json& cases, const std::string& operation, const std::string& what);
  ~Case();  // adds the case to `cases`
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  template <class Value>
  Value parameter(const std::string& key, Value value) {
    case_["parameters"][key] = value;
    return value;
  }
  float parameter(const std::string& key, float value);  // written as bits
  double parameter(const std::string& key, double value);

  Floats input(const std::string& key, Make make, const Shape& shape);
  // Specials, each `times` in a row. shape: if not one dimension.
  Floats each(const std::string& key, std::int64_t times, const Shape& shape = {});
  Floats literal(const std::string& key, const std::vector<std::uint32_t>& bits,
                 const Shape& shape = {});
  Doubles input64(const std::string& key, double scale, std::int64_t n);
  Doubles literal64(const std::string& key, const Doubles& values);
  std::vector<std::uint8_t> bytes(const std::string& key, std::int64_t n);  // i mod 256
  Bytes drawn_bytes(const std::string& key, std::int64_t n);                // word(seed, i) mod 256

  void output(const std::string& key, const Floats& values);
  void output(const std::string& key, const Doubles& values);
  void output(const std::string& key, const std::vector<std::uint8_t>& values);
  void output(const std::string& key, const std::vector<std::uint32_t>& values);
  void output(const std::string& key, const std::vector<std::uint64_t>& values);
  void output(const std::string& key, const std::vector<std::int64_t>& values);
  void output(const std::string& key, const std::vector<hash::Digest>& values);
  // A tensor of a state: its shape and digest are written beside its values.
  void output(const std::string& key, const Floats& values, const Shape& shape,
              const hash::Digest& digest);

 private:
  std::uint32_t seed(const std::string& key) const;
  template <class Word, class Values>
  void words(const std::string& key, const char* type, const Values& values);

  Json& cases_;
  Json case_;
  std::vector<std::uint8_t> hashed_;
};

// A conformance program: prints the document of these groups of cases. Arguments: program.cpp.
using Group = void (*)(Json& cases);
int print_document(int argc, char** argv, const std::vector<Group>& groups);

// Every case of docs/conformance.json, by group (cases_*.cpp).
void add_function_cases(Json& cases);
void add_elementwise_cases(Json& cases);
void add_random_cases(Json& cases);
void add_host_cases(Json& cases);
void add_chain_cases(Json& cases);
void add_conv_cases(Json& cases);
void add_integer_cases(Json& cases);
void add_norm_cases(Json& cases);
void add_update_cases(Json& cases);
void add_stream_cases(Json& cases);
void add_schedule_cases(Json& cases);
void add_hash_cases(Json& cases);

}  // namespace lockstep::conformance
