// Prints the conformance document of this machine: `conformance [--isa NAME] [--threads N]`.
// It must equal docs/conformance.json, byte for byte, on every machine (run.py).
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "conformance/document.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/isa.h"
#include "lockstep/numerics/parallel.h"

namespace {

using namespace lockstep;

void choose(int argc, char** argv) {
  std::optional<std::string> isa;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--isa") isa = argv[i + 1];
    if (option == "--threads") numerics::set_threads(std::atoi(argv[i + 1]));
  }
  numerics::select_isa(isa);
}

conformance::Json document() {
  conformance::Json words = conformance::Json::array();
  for (const std::uint32_t bits : conformance::specials()) words.push_back(conformance::hex(bits));
  conformance::Json cases = conformance::Json::array();
  conformance::add_function_cases(cases);
  conformance::add_elementwise_cases(cases);
  conformance::add_random_cases(cases);
  conformance::add_host_cases(cases);
  conformance::add_chain_cases(cases);
  conformance::add_conv_cases(cases);
  conformance::add_norm_cases(cases);
  conformance::add_update_cases(cases);
  return {{"format", "lockstep conformance 1"},
          {"numerics", 0},
          {"how_to_read", "docs/conformance.md"},
          {"specials", std::move(words)},
          {"cases", std::move(cases)}};
}

// One line a case: the file can be read, and a difference names its case.
void print(const conformance::Json& all) {
  std::cout << "{\n";
  for (const auto& [key, value] : all.items()) {
    if (key != "cases") std::cout << ' ' << conformance::Json(key) << ": " << value << ",\n";
  }
  std::cout << " \"cases\": [\n";
  const auto& cases = all["cases"];
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::cout << "  " << cases[i] << (i + 1 < cases.size() ? ",\n" : "\n");
  }
  std::cout << " ]\n}\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    choose(argc, argv);
    print(document());
    return 0;
  } catch (const lockstep::Error& error) {
    std::cerr << "conformance: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
}
