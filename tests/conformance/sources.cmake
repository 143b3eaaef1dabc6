# Shared by the normal build and the one for other architectures (cross/).
set(CONFORMANCE_SOURCES
  main.cpp vectors.cpp sha256.cpp document.cpp cases_elementwise.cpp cases_random.cpp cases_host.cpp
  cases_chain.cpp cases_conv.cpp cases_norm.cpp cases_update.cpp)
list(TRANSFORM CONFORMANCE_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
