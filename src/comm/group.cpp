#include "lockstep/comm/group.h"

#include <cstdint>
#include <vector>

#include "lockstep/comm/gather.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

constexpr std::uint64_t kMaxText = 1 << 24;  // checked before memory is taken

class Deferred final : public Verb {
 public:
  explicit Deferred(std::function<void()> verb) : verb_(std::move(verb)) {}
  void finish() override { verb_(); }

 private:
  std::function<void()> verb_;
};

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

std::unique_ptr<Verb> Group::begin_all_to_all(std::span<const ByteView> to,
                                              std::span<const MutableByteView> from) {
  return std::make_unique<Deferred>(
      [this, to = std::vector(to.begin(), to.end()), from = std::vector(from.begin(), from.end())] {
        all_to_all(to, from);
      });
}

std::unique_ptr<Verb> Group::begin_all_gather(ByteView mine,
                                              std::span<const MutableByteView> from) {
  return std::make_unique<Deferred>(
      [this, mine, from = std::vector(from.begin(), from.end())] { all_gather(mine, from); });
}

std::future<void> Group::start(Job job) {
  std::packaged_task<void(Group&)> task(std::move(job));
  std::future<void> end = task.get_future();
  task(*this);
  return end;
}

}  // namespace lockstep::comm
