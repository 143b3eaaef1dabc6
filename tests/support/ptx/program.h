// PTX that nvcc made, ready to be interpreted (warp.h).
//
// A register is 32 lanes side by side in a warp's register file: 4 or 8 bytes each, a predicate one
// bit. A *slot* is where it begins. Constants have slots, too, so an instruction need not ask what
// its operand is. Of PTX there is what nvcc makes of our kernels; anything else ends the program
// and is named.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/ptx/memory.h"

namespace lockstep::test::ptx {

inline constexpr int kLanes = 32;
inline constexpr std::uint32_t kAllLanes = 0xffffffffU;

class Warp;
struct Function;
using Slot = std::uint32_t;

struct Instruction {
  enum class Kind : std::uint8_t {
    kPlain,
    kBranch,
    kCall,
    kReturn,
    kBarrier,
    kShuffle,
    kMatrices,
    kMma
  };
  // What it does to asynchronous copies.
  enum class Copies : std::uint8_t { kNone, kBegin, kCommit, kWait };
  static constexpr std::size_t kMostSlots = 14;  // mma

  // What a plain one does, for the lanes of the mask.
  using Run = void (*)(Warp& warp, const Instruction& instruction, std::uint32_t mask);

  Kind kind = Kind::kPlain;
  bool guarded = false, negated = false;   // @%p, @!%p
  bool turned = false;                     // ldmatrix.trans
  bool fma = false;                        // for profiles: Counts
  std::uint8_t issued = 1, binary64 = 0;   // instructions of a GPU: all, and on binary64
  std::uint8_t results = 0, operands = 0;  // slots of each, for clocks
  std::uint16_t latency = 4;               // clocks until its results are there
  Copies copies = Copies::kNone;
  int newest = 0;  // kWait: groups that may be under way
  Slot guard = 0;
  Run run = nullptr;
  std::array<Slot, kMostSlots> slots{};  // results first
  std::int64_t offset = 0;               // of an address; kBranch: the instruction that it leads to
  int variable = 0;                      // of parameter space: its number; kCall: the call's
  int line = 0;                          // of the text
};

// A variable of parameter space: one value for all lanes (a kernel's), or one a lane.
struct Variable {
  std::size_t bytes;
};

struct Call {
  const Function* function;
  std::vector<int> arguments;  // variables of the caller
  int result = -1;
};

// Lanes of a register that never change.
struct Constant {
  Slot slot;
  int bytes;
  std::uint64_t value;
};

// Where the address of a parameter is.
struct Address {
  Slot slot;
  int variable;
};

// What a thread knows of itself: 4 bytes each, in the first slots.
enum Special : Slot { kTid, kNtid, kCtaid, kNctaid, kZero, kSpecials };
inline constexpr Slot slot_of(Special special) {
  return special * 4U * kLanes;
}

struct Function {
  std::string name;
  bool kernel = false;
  std::size_t threads = 0;  // most of a block; 0: not said
  std::vector<Variable> variables;
  std::vector<int> parameters;  // of them
  int result = -1;
  std::vector<Instruction> instructions;
  const std::vector<std::string_view>* lines = nullptr;  // of the whole text
  std::vector<Call> calls;
  std::vector<Constant> constants;
  std::vector<Address> addresses;
  std::size_t register_bytes = 0;
  std::size_t local_bytes = 0;  // a thread
  Slot local = 0;               // where its address is, if there are any
};

// A file of PTX. Functions are read when they are asked for.
class Module {
 public:
  explicit Module(std::string text);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // Ends the program if there is none.
  const Function& function(const std::string& name);
  // Of a .global variable; null if it is none.
  void* variable(const std::string& name);

 private:
  struct Source {
    std::string_view head, body;
  };
  void read_variable(std::string_view statement);

  const std::string text_;
  std::vector<std::string_view> lines_;
  std::map<std::string, Source> sources_;
  std::map<std::string, std::size_t> variables_;
  std::vector<std::vector<std::byte, Malloc<std::byte>>> memory_;
  std::map<std::string, std::unique_ptr<Function>> functions_;
};

// Where dynamic shared memory begins: an address of shared memory is never 0.
inline constexpr std::uint32_t kShared = 1024;

// Names it on stderr and aborts.
[[noreturn]] void die(const std::string& what);

}  // namespace lockstep::test::ptx
