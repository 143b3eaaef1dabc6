#include "lockstep/comm/journal.h"

#include <numeric>
#include <utility>

#include "lockstep/core/clock.h"
#include "lockstep/core/json.h"
#include "lockstep/core/log.h"

namespace lockstep::comm {
namespace {

template <class View>
std::vector<std::size_t> sizes_of(std::span<const View> views) {
  std::vector<std::size_t> sizes;
  for (const View& view : views) sizes.push_back(view.size());
  return sizes;
}

// Calls it, and adds the time to the entry; a failure is written down.
void timed(Journal& journal, Journal::Entry& entry, const std::function<void()>& body) {
  const double began = monotonic_seconds();
  try {
    body();
  } catch (const std::exception& error) {
    journal.end(entry, error.what());
    throw;
  }
  entry.waited += monotonic_seconds() - began;
}

class JournaledOperation final : public Operation {
 public:
  JournaledOperation(Journal& journal, Journal::Entry entry, std::unique_ptr<Operation> operation)
      : journal_(journal), entry_(std::move(entry)), operation_(std::move(operation)) {}
  ~JournaledOperation() override {
    if (!ended_) journal_.end(entry_, "nobody waited for it");
  }
  JournaledOperation(const JournaledOperation&) = delete;
  JournaledOperation& operator=(const JournaledOperation&) = delete;

  void finish() override {
    ended_ = true;
    timed(journal_, entry_, [&] { operation_->finish(); });
    journal_.end(entry_, "");
  }

 private:
  Journal& journal_;
  Journal::Entry entry_;
  bool ended_ = false;
  std::unique_ptr<Operation> operation_;
};

class JournaledGroup final : public Group {
 public:
  JournaledGroup(std::unique_ptr<Group> group, std::unique_ptr<File> file)
      : group_(std::move(group)), journal_(*group_, std::move(file)) {}

  Rank rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  Journal* journal() override { return &journal_; }
  void abort(const Error& reason) override { group_->abort(reason); }

  bool takes_device_memory() const override { return group_->takes_device_memory(); }
  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory) override {
    noted("all_to_all", to, from, memory, [&] { group_->all_to_all(to, from, memory); });
  }
  void all_gather(ByteView mine, std::span<const MutableByteView> from, Memory memory) override {
    noted("all_gather", to_all(mine), from, memory,
          [&] { group_->all_gather(mine, from, memory); });
  }
  void broadcast(Rank root, MutableByteView buffer) override {
    std::vector<MutableByteView> from(static_cast<std::size_t>(size()));
    if (root != rank()) from[static_cast<std::size_t>(root.value)] = buffer;
    noted("broadcast", root == rank() ? to_all(buffer) : std::vector<ByteView>{}, from,
          Memory::kHost, [&] { group_->broadcast(root, buffer); });
  }
  void barrier() override {
    noted("barrier", {}, {}, Memory::kHost, [&] { group_->barrier(); });
  }

  std::unique_ptr<Operation> begin_all_to_all(std::span<const ByteView> to,
                                              std::span<const MutableByteView> from,
                                              Memory memory) override {
    return begun("all_to_all", to, from, memory,
                 [&] { return group_->begin_all_to_all(to, from, memory); });
  }
  std::unique_ptr<Operation> begin_all_gather(ByteView mine, std::span<const MutableByteView> from,
                                              Memory memory) override {
    return begun("all_gather", to_all(mine), from, memory,
                 [&] { return group_->begin_all_gather(mine, from, memory); });
  }

 private:
  std::vector<ByteView> to_all(ByteView mine) const {
    return std::vector<ByteView>(static_cast<std::size_t>(size()), mine);
  }

  template <class Body>
  void noted(const std::string& operation, std::span<const ByteView> to,
             std::span<const MutableByteView> from, Memory memory, const Body& body) {
    Journal::Entry entry = journal_.begin(operation, to, from, memory);
    timed(journal_, entry, body);
    journal_.end(entry, "");
  }
  template <class Body>
  std::unique_ptr<Operation> begun(const std::string& operation, std::span<const ByteView> to,
                                   std::span<const MutableByteView> from, Memory memory,
                                   const Body& body) {
    Journal::Entry entry = journal_.begin(operation, to, from, memory);
    std::unique_ptr<Operation> inner;
    timed(journal_, entry, [&] { inner = body(); });
    return std::make_unique<JournaledOperation>(journal_, std::move(entry), std::move(inner));
  }

  std::unique_ptr<Group> group_;
  Journal journal_;
};

}  // namespace

Journal::Journal(const Group& group, std::unique_ptr<File> file)
    : rank_(group.rank().value),
      world_(group.size()),
      opened_(monotonic_seconds()),
      file_(std::move(file)) {}

Journal::Entry Journal::begin(const std::string& operation, std::span<const ByteView> to,
                              std::span<const MutableByteView> from, Memory memory) {
  return {.operation = operation,
          .about = std::exchange(about_, {}),
          .memory = memory,
          .step = step_,
          .to = sizes_of(to),
          .from = sizes_of(from),
          .began = monotonic_seconds()};
}

void Journal::end(const Entry& entry, const std::string& error) noexcept try {
  if (!file_) return;
  const auto others = [&](std::vector<std::size_t> sizes) {
    if (!sizes.empty()) sizes.at(static_cast<std::size_t>(rank_)) = 0;
    return std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  };
  Json line = {{"rank", rank_},
               {"ranks", world_},
               {"step", entry.step.value},
               {"operation", entry.operation},
               {"about", entry.about},
               {"memory", entry.memory == Memory::kHost ? "host" : "gpu"},
               {"bytes_sent", others(entry.to)},
               {"bytes_received", others(entry.from)},
               {"to", entry.to},
               {"from", entry.from},
               {"began", entry.began - opened_},
               {"seconds", monotonic_seconds() - entry.began},
               {"waited", entry.waited}};
  if (!error.empty()) line["error"] = error;
  file_->append(as_bytes(json_line(line)));
} catch (const std::exception& failure) {
  log::warn(std::string("the exchange log ends here: ") + failure.what());
  file_ = nullptr;
}

std::unique_ptr<Group> journaled(std::unique_ptr<Group> group,
                                 const std::filesystem::path& folder) {
  FileSystem& fs = real_file_system();
  make_folders(fs, folder);
  const std::string name = "rank-" + std::to_string(group->rank().value) + ".jsonl";
  return std::make_unique<JournaledGroup>(std::move(group), open_lines(fs, folder / name));
}

}  // namespace lockstep::comm
