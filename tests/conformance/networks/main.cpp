// Prints docs/networks.json.
#include "conformance/networks/tensors.h"

int main(int argc, char** argv) {
  using namespace lockstep::conformance;
  return print_document(argc, argv, {add_value_cases, add_training_cases, add_state_cases});
}
