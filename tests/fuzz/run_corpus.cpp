// fuzz_<reader> FOLDER: gives every file of the folder to the target. The ordinary build's way to
// run the same targets; libFuzzer brings another main.
#include <cstdio>
#include <iterator>
#include <vector>

#include "fuzz/target.h"

int main(int argc, char** argv) {
  namespace stdfs = std::filesystem;
  if (argc != 2) return 2;
  int count = 0;
  for (const auto& entry : stdfs::directory_iterator(argv[1])) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", entry.path().c_str());  // the last one is it, if it ends here
    // A copy of the exact size: sanitizers see reads beyond it.
    const std::vector<std::uint8_t> input(bytes.begin(), bytes.end());
    LLVMFuzzerTestOneInput(input.data(), input.size());
    ++count;
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
