// Compiled twice, see CMakeLists.txt: once as our targets are, once with contraction allowed.
float LOCKSTEP_CANARY(float a, float b, float c);

float LOCKSTEP_CANARY(float a, float b, float c) {
  return a * b + c;
}
