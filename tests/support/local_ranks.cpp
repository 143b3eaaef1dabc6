#include "support/local_ranks.h"

#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "comm/reason.h"
#include "lockstep/core/error.h"

namespace lockstep::comm {
namespace {

// What one rank laid out for the others during an operation.
struct Posted {
  std::vector<ByteView> to;  // one view a receiving rank
};

// Shared by all ranks. An operation is: post, meet, copy from the others, meet (so that nobody's
// buffers go away while they are read).
class Room {
 public:
  explicit Room(int world) : posted(static_cast<std::size_t>(world)), world_(world) {}

  // Throws once somebody has aborted.
  void meet() {
    std::unique_lock lock(mutex_);
    check(lock);
    const std::int64_t round = arrive();
    changed_.wait(lock, [&] { return round_ != round || reason_; });
    if (round_ == round) check(lock);
  }

  // An operation's second meeting. Every rank of the first one comes, even after an abort.
  void part() {
    std::unique_lock lock(mutex_);
    const std::int64_t round = arrive();
    changed_.wait(lock, [&] { return round_ != round; });
  }

  // The first abort wins; run_local throws that rank's error.
  void abort(int rank, const Error& reason) {
    std::scoped_lock lock(mutex_);
    if (reason_) return;
    reason_.emplace(code_for_others(reason.code()), reason.what());
    first_ = rank;
    changed_.notify_all();
  }

  int first() const { return first_; }

  std::vector<Posted> posted;

 private:
  // The round that ends when all have arrived; it may be over by now.
  std::int64_t arrive() {
    const std::int64_t round = round_;
    if (++here_ == world_) {
      here_ = 0;
      ++round_;
      changed_.notify_all();
    }
    return round;
  }

  void check(std::unique_lock<std::mutex>&) const {
    if (reason_) throw reason_->within(kGroupStopped);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const int world_;
  int here_ = 0;
  std::int64_t round_ = 0;
  std::optional<Error> reason_;
  int first_ = -1;
};

class LocalGroup final : public Group {
 public:
  LocalGroup(Room& room, Rank rank, int world) : room_(room), rank_(rank), world_(world) {}

  Rank rank() const override { return rank_; }
  int size() const override { return world_; }

  void all_to_all(std::span<const ByteView> to, std::span<const MutableByteView> from,
                  Memory memory) override {
    LOCKSTEP_ASSERT(memory == Memory::kHost);
    LOCKSTEP_ASSERT(to.size() == static_cast<std::size_t>(world_) && from.size() == to.size());
    mine().to.assign(to.begin(), to.end());
    room_.meet();
    std::optional<Error> misfit;
    for (std::size_t r = 0; r < from.size(); ++r) copy(r, from[r], misfit);
    leave(misfit);
  }

  void all_gather(ByteView mine_bytes, std::span<const MutableByteView> from,
                  Memory memory) override {
    LOCKSTEP_ASSERT(memory == Memory::kHost);
    LOCKSTEP_ASSERT(from.size() == static_cast<std::size_t>(world_));
    mine().to.assign(from.size(), mine_bytes);
    room_.meet();
    std::optional<Error> misfit;
    for (std::size_t r = 0; r < from.size(); ++r) copy(r, from[r], misfit);
    leave(misfit);
  }

  void broadcast(Rank root, MutableByteView buffer) override {
    if (rank_ == root) mine().to.assign(static_cast<std::size_t>(world_), buffer);
    room_.meet();
    std::optional<Error> misfit;
    if (rank_ != root) copy(static_cast<std::size_t>(root.value), buffer, misfit);
    leave(misfit);
  }

  void barrier() override { room_.meet(); }
  void abort(const Error& reason) override { room_.abort(static_cast<int>(rank_.value), reason); }

 private:
  Posted& mine() { return room_.posted[static_cast<std::size_t>(rank_.value)]; }

  void copy(std::size_t sender, MutableByteView into, std::optional<Error>& misfit) {
    const ByteView view = room_.posted[sender].to[static_cast<std::size_t>(rank_.value)];
    if (view.size() != into.size()) {
      misfit = Error(Code::kNetwork, "rank " + std::to_string(rank_.value) + " expected " +
                                         std::to_string(into.size()) + " bytes from rank " +
                                         std::to_string(sender) + ", which sent " +
                                         std::to_string(view.size()));
    } else if (into.data() != view.data()) {
      std::memcpy(into.data(), view.data(), into.size());
    }
  }

  // Throws a misfit only when no rank reads this rank's buffers any more: they go away with it.
  void leave(const std::optional<Error>& misfit) {
    room_.part();
    if (misfit) throw *misfit;
  }

  Room& room_;
  Rank rank_;
  int world_;
};

}  // namespace

void run_local(int world, const std::function<void(Group&)>& body) {
  LOCKSTEP_ASSERT(world >= 1);
  Room room(world);
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(world));
  const auto run_rank = [&](int r) {
    LocalGroup group(room, Rank(r), world);
    try {
      body(group);
    } catch (const std::exception& failure) {
      failures[static_cast<std::size_t>(r)] = std::current_exception();
      const auto* known = dynamic_cast<const Error*>(&failure);
      room.abort(r, {known ? known->code() : Code::kNetwork,
                     "rank " + std::to_string(r) + ": " + failure.what()});
    }
  };
  if (world == 1) {
    run_rank(0);
  } else {
    std::vector<std::jthread> ranks;
    for (int r = 0; r < world; ++r) ranks.emplace_back(run_rank, r);
  }
  if (room.first() >= 0 && failures[static_cast<std::size_t>(room.first())])
    std::rethrow_exception(failures[static_cast<std::size_t>(room.first())]);
}

}  // namespace lockstep::comm
