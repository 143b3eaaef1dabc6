# `cmake --install`: the program, its manual page and completions, and its plug-ins. The libraries that no
# distribution has lie as in their wheels, because they find each other by that. Component `program` is all but what GPUs need, `gpu`.
set(deps ${CMAKE_SOURCE_DIR}/.deps)
install(TARGETS lockstep DESTINATION bin COMPONENT program)
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION share COMPONENT program)
install(TARGETS lockstep_gloo DESTINATION lib COMPONENT program)
set_target_properties(lockstep PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/lockstep/torch/lib")

function(lockstep_install_wheel component wheel folder)  # lockstep_install_wheel(... <files>)
  list(TRANSFORM ARGN PREPEND ${deps}/${wheel}/${folder}/)
  install(FILES ${ARGN} DESTINATION lib/lockstep/${folder} COMPONENT ${component})
endfunction()
lockstep_install_wheel(program libtorch torch/lib libtorch_cpu.so libc10.so libgomp.so.1)
lockstep_install_wheel(program libtorch nvidia/cu13/lib libcudart.so.13 libcupti.so.13)
if(TARGET lockstep_cuda)
  install(TARGETS lockstep_cuda DESTINATION lib COMPONENT gpu)
endif()
if(TARGET lockstep_nccl)
  install(TARGETS lockstep_nccl DESTINATION lib COMPONENT gpu)
  set_target_properties(lockstep_nccl PROPERTIES INSTALL_RPATH
    "$ORIGIN/lockstep/nvidia/nccl/lib:$ORIGIN/lockstep/nvidia/cu13/lib")
  lockstep_install_wheel(gpu nccl nvidia/nccl/lib libnccl.so.2)
endif()
