// Prints docs/conformance.json.
#include "conformance/document.h"

int main(int argc, char** argv) {
  using namespace lockstep::conformance;
  return print_document(
      argc, argv,
      {add_function_cases, add_elementwise_cases, add_random_cases, add_host_cases, add_chain_cases,
       add_conv_cases, add_integer_cases, add_norm_cases, add_update_cases, add_stream_cases,
       add_schedule_cases, add_hash_cases});
}
