// What a conformance program does: `PROGRAM [--isa NAME] [--threads N]` prints its document on this
// machine. It must equal the published one, byte for byte, on every machine (run.py).
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "conformance/document.h"
#include "lockstep/core/error.h"
#include "lockstep/numerics/isa.h"
#include "support/cpu.h"

namespace lockstep::conformance {
namespace {

void choose(int argc, char** argv) {
  std::optional<std::string> isa;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--isa") isa = argv[i + 1];
    if (option == "--threads") numerics::use_threads(std::atoi(argv[i + 1]));
  }
  numerics::use_isa(numerics::isa_named(isa));
}

Json document(const std::vector<Group>& groups) {
  Json words = Json::array();
  for (const std::uint32_t bits : specials()) words.push_back(hex(bits));
  Json cases = Json::array();
  for (const Group add : groups) add(cases);
  return {{"format", "lockstep conformance 1"},
          {"numerics", 0},
          {"how_to_read", "docs/conformance.md"},
          {"specials", std::move(words)},
          {"cases", std::move(cases)}};
}

// One line a case: the file can be read, and a difference names its case.
void print(const Json& all) {
  std::cout << "{\n";
  for (const auto& [key, value] : all.items()) {
    if (key != "cases") std::cout << ' ' << Json(key) << ": " << value << ",\n";
  }
  std::cout << " \"cases\": [\n";
  const auto& cases = all["cases"];
  for (std::size_t i = 0; i < cases.size(); ++i) {
    std::cout << "  " << cases[i] << (i + 1 < cases.size() ? ",\n" : "\n");
  }
  std::cout << " ]\n}\n";
}

}  // namespace

int print_document(int argc, char** argv, const std::vector<Group>& groups) {
  try {
    choose(argc, argv);
    print(document(groups));
    return 0;
  } catch (const Error& error) {
    std::cerr << "conformance: " << error.what() << '\n';
    return static_cast<int>(error.code());
  }
}

}  // namespace lockstep::conformance
