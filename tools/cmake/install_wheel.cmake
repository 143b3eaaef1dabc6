# Component `wheel` of preset `wheel`: what lies in the wheel, before it is packed (tools/wheel). pip puts the folder
# lockstep beside PyTorch's torch and nvidia, and what is below data into the environment's root.
set(data lockstep-${PROJECT_VERSION}.data/data)
set(info lockstep-${PROJECT_VERSION}.dist-info)
file(GLOB modules ${CMAKE_SOURCE_DIR}/python/lockstep/*.py)
install(FILES ${modules} DESTINATION lockstep COMPONENT wheel)
install(TARGETS lockstep DESTINATION lockstep/bin COMPONENT wheel)
set_target_properties(lockstep PROPERTIES INSTALL_RPATH "$ORIGIN/../../torch/lib")
foreach(plugin lockstep_gloo lockstep_nccl lockstep_cuda)
  if(TARGET ${plugin})
    install(TARGETS ${plugin} DESTINATION lockstep/bin COMPONENT wheel)
    list(APPEND plugins ${plugin})
  endif()
endforeach()
install(TARGETS conformance_cuda functions_cuda gpu_bench DESTINATION lockstep/bin COMPONENT wheel)  # for tools/gpu-check
set_target_properties(lockstep_nccl PROPERTIES INSTALL_RPATH "$ORIGIN/../../nvidia/nccl/lib")
file(GLOB linked ${CMAKE_BINARY_DIR}/old_system/*.so* ${CMAKE_BINARY_DIR}/old_system/*.a ${CMAKE_BINARY_DIR}/old_system/start.o)
set_property(TARGET lockstep ${plugins} APPEND PROPERTY LINK_DEPENDS ${linked})
install(DIRECTORY ${CMAKE_BINARY_DIR}/share/ DESTINATION ${data}/share COMPONENT wheel)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/recipes DESTINATION ${data}/share/lockstep COMPONENT wheel FILES_MATCHING PATTERN *.toml)
file(GLOB pages ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${pages} DESTINATION ${data}/share/lockstep/docs COMPONENT wheel)

# Whose code is in the program.
foreach(package libaec-dev libcli11-dev libfmt-dev libhdf5-dev libhwy-dev libjpeg62-turbo-dev libpng-dev libspdlog-dev libssl-dev
        libstdc++-12-dev libtomlplusplus-dev nlohmann-json3-dev zlib1g-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${info}/licenses RENAME ${package} COMPONENT wheel)
endforeach()
install(FILES ${GLOO_INCLUDE_DIR}/LICENSE DESTINATION ${info}/licenses RENAME gloo COMPONENT wheel)

file(CONFIGURE OUTPUT wheel/METADATA CONTENT [[Metadata-Version: 2.1
Name: lockstep
Version: @PROJECT_VERSION@
Summary: Trains diffusion models and GANs with the same bits on every machine
Requires-Python: >=3.10
Requires-Dist: torch==@LOCKSTEP_LIBTORCH_VERSION@
Provides-Extra: readers
Requires-Dist: numpy; extra == "readers"
Requires-Dist: h5py; extra == "readers"
Requires-Dist: safetensors; extra == "readers"

The command `lockstep`, its recipes and pages (share/lockstep), and the Python modules that read what a run
and `lockstep export` write (extra `readers`).
]] @ONLY)
file(CONFIGURE OUTPUT wheel/WHEEL CONTENT [[Wheel-Version: 1.0
Generator: lockstep
Root-Is-Purelib: false
Tag: py3-none-linux_x86_64
]])
file(CONFIGURE OUTPUT wheel/entry_points.txt CONTENT [[[console_scripts]
lockstep = lockstep.__main__:main
]])
install(DIRECTORY ${CMAKE_BINARY_DIR}/wheel/ DESTINATION ${info} COMPONENT wheel)
