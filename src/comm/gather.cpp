#include "lockstep/comm/gather.h"

#include <cstdint>

#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

constexpr std::uint64_t kMaxText = 1 << 24;  // checked before memory is taken

}  // namespace

std::vector<std::string> gather_texts(Group& group, const std::string& mine) {
  std::vector<std::size_t> sizes;
  for (const auto& size : gather<std::uint64_t>(group, {mine.size()})) {
    if (size[0] > kMaxText)
      throw Error(Code::kNetwork,
                  "a rank announces a text of " + std::to_string(size[0]) + " bytes",
                  "all ranks must run the same program");
    sizes.push_back(size[0]);
  }
  std::vector<std::string> texts;
  for (const auto& text : gather<char>(group, {mine.begin(), mine.end()}, sizes))
    texts.emplace_back(text.begin(), text.end());
  return texts;
}

void await_all(Group& group) {
  try {
    group.barrier();
  } catch (const Error&) {  // a rank has left already, so all had come
  }
}

}  // namespace lockstep::comm
