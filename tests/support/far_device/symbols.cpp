#include "support/far_device/symbols.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

namespace lockstep::testing::far {
namespace {

struct Function {
  std::uintptr_t bytes;
  std::string name;
};

std::map<std::uintptr_t, Function>& functions() {  // by address in the file
  static auto* const all = new std::map<std::uintptr_t, Function>;
  return *all;
}

// Where the program lies: the first object is the program itself.
std::uintptr_t program_base() {
  std::uintptr_t base = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &base);
  return base;
}

template <class T>
T at(const std::string& file, std::size_t byte) {
  T value;
  std::memcpy(&value, file.data() + byte, sizeof value);
  return value;
}

}  // namespace

void read_symbols() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  const std::string file = std::move(text).str();
  const auto header = at<ElfW(Ehdr)>(file, 0);
  for (std::size_t s = 0; s < header.e_shnum; ++s) {
    const auto table = at<ElfW(Shdr)>(file, header.e_shoff + s * header.e_shentsize);
    if (table.sh_type != SHT_SYMTAB) continue;
    const auto names = at<ElfW(Shdr)>(file, header.e_shoff + table.sh_link * header.e_shentsize);
    for (std::size_t i = 0; i < table.sh_size; i += sizeof(ElfW(Sym))) {
      const auto symbol = at<ElfW(Sym)>(file, table.sh_offset + i);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) continue;
      functions()[symbol.st_value] = {symbol.st_size,
                                      file.data() + names.sh_offset + symbol.st_name};
    }
  }
}

std::string function_at(std::uintptr_t address) {
  const std::uintptr_t in_file = address - program_base();
  auto at = functions().upper_bound(in_file);
  if (at == functions().begin()) return {};
  --at;
  if (in_file - at->first >= at->second.bytes) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(at->second.name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 ? name.get() : at->second.name;
}

}  // namespace lockstep::testing::far
