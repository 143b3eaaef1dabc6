#include "lockstep/ops/guard.h"

#include <ATen/Context.h>
#include <ATen/record_function.h>

#include <string_view>
#include <utility>
#include <vector>

#include "lockstep/core/error.h"
#include "lockstep/ops/where.h"
#include "ops/movement.h"
#include "ops/surroundings.h"

namespace lockstep::ops {
namespace {

// The autograd node that runs in this thread, by LibTorch's name; only of interest if it is not
// ours.
thread_local const char* node = nullptr;

std::atomic<int> alive_count = 0;
std::mutex alive_mutex;
std::vector<Guard*>& alive() {
  static std::vector<Guard*> guards;
  return guards;
}

std::string place() {
  if (where().pass == Pass::kEngine && node != nullptr)
    return std::string("autograd node ") + node + " (" + to_text(where()) + ")";
  if (thread_guard() == nullptr && where().module.empty()) return "a thread of its own";
  return to_text(where());
}

std::string hint() {
  if (where().pass == Pass::kEngine && node == nullptr)
    return "a tensor with several uses goes through ops::fork, whose additions are ours";
  return "use the ops of lockstep/ops/ops.h";
}

void tell(const std::string& what) {
  const std::string line = what + " ran in " + place() +
                           ": LibTorch may move data only, its arithmetic depends on the machine";
  if (Guard* guard = thread_guard()) return guard->saw(line, hint());
  const std::scoped_lock lock(alive_mutex);
  for (Guard* guard : alive()) guard->saw(line, hint());
}

// LibTorch's filling of fresh memory, where it is on (prepare_native): nobody reads that.
bool is_filling(std::string_view op) {
  const at::Context& context = at::globalContext();
  return op == "aten::fill_" && context.deterministicAlgorithms() &&
         context.deterministicFillUninitializedMemory();
}

std::unique_ptr<at::ObserverContext> on_operator(const at::RecordFunction& f) {
  if (alive_count == 0) return nullptr;
  const char* const name = f.name();
  if (is_movement(name)) {
    if (const std::string conversion = conversion_in(f.inputs()); !conversion.empty())
      tell(std::string(name) + " " + conversion);
  } else if (f.operator_name()) {  // not a mere range that somebody marked for profilers
    if (!is_filling(name)) tell(name);
  }
  return nullptr;
}

std::unique_ptr<at::ObserverContext> on_node(const at::RecordFunction& f) {
  node = f.name();
  return nullptr;
}
void after_node(const at::RecordFunction&, at::ObserverContext*) {
  node = nullptr;
}

// Once a process and for good: LibTorch asks that observers are not removed while others run.
void install() {
  static const bool done = [] {
    at::addGlobalCallback(at::RecordFunctionCallback(on_operator)
                              .needsInputs(true)
                              .scopes({at::RecordScope::FUNCTION}));
    at::addGlobalCallback(at::RecordFunctionCallback(on_node, after_node)
                              .scopes({at::RecordScope::BACKWARD_FUNCTION}));
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

Guard::Guard(std::string during)
    : during_(std::move(during)), outer_(std::exchange(thread_guard(), this)) {
  install();
  const std::scoped_lock lock(alive_mutex);
  alive().push_back(this);
  ++alive_count;
}

Guard::~Guard() {
  thread_guard() = outer_;
  const std::scoped_lock lock(alive_mutex);
  std::erase(alive(), this);
  --alive_count;
}

void Guard::saw(const std::string& what, const std::string& hint) {
  const std::scoped_lock lock(mutex_);
  if (tripped_) return;
  what_ = what;
  hint_ = hint;
  tripped_ = true;
}

void Guard::check() const {
  if (!tripped_) return;
  const std::scoped_lock lock(mutex_);
  throw Error(Code::kBug, during_ + ": " + what_, hint_);
}

void check_guard() {
  if (const Guard* guard = thread_guard()) guard->check();
}

Guard*& thread_guard() {
  thread_local Guard* guard = nullptr;
  return guard;
}

}  // namespace lockstep::ops
