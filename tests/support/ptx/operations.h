// What an instruction of PTX does to the lanes of a warp, by its name.
#pragma once

#include <atomic>
#include <string_view>
#include <vector>

#include "support/ptx/program.h"

namespace lockstep::test::ptx {

// Operands are registers or constants, and as wide as here; an address is a register and an offset.
struct Operation {
  Instruction::Run run = nullptr;
  std::vector<int> results, operands;  // bytes of a lane; 0: a predicate
  bool address_first = false;          // the first operand is an address: [%rd1+4]
  bool parameter = false;              // the address is of parameter space
};

// Of a GPU that computes wrongly: what is read from now on multiplies and adds binary32 in two
// roundings.
inline std::atomic<bool> fma_is_broken = false;

// Null if there is none of this name.
const Operation* find_operation(std::string_view name);

// Those that move memory (memory_operations.cpp).
const Operation* find_memory_operation(std::string_view name);

}  // namespace lockstep::test::ptx
