# Sets `definition` to what a plug-in and those who load it are compiled with: the hash of the headers (globs) between them.
# A plug-in of another build is refused by it (lockstep/core/plugin.h).
function(lockstep_plugin_interface definition)
  file(GLOB headers CONFIGURE_DEPENDS ${ARGN})
  set(hashes "")
  foreach(header ${headers})
    file(SHA256 ${header} hash)
    string(APPEND hashes ${hash})
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
  string(SHA256 hash "${hashes}")
  set(${definition} LOCKSTEP_PLUGIN_INTERFACE=${hash} PARENT_SCOPE)
endfunction()
