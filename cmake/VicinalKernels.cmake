# Embeds the GPU kernels in the library. Their source is for the compiler at run time. If CUDA's
# compiler is available at build time, their code for all NVIDIA GPUs that it knows is embedded,
# too; that code needs no compiler at run time.

set(kernels "${CMAKE_CURRENT_SOURCE_DIR}/src/memory/device/kernels.cu")
set(generated_dir "${CMAKE_CURRENT_BINARY_DIR}/generated/memory/device")
file(READ "${kernels}" kernel_source)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${kernels}")
configure_file(cmake/kernel_source.hpp.in generated/memory/device/kernel_source.hpp @ONLY)
target_include_directories(vicinal_flags INTERFACE "${CMAKE_CURRENT_BINARY_DIR}/generated")

# Checks whether nvcc works with the host compiler that it finds, and supports -compress-mode.
function(vicinal_try_nvcc result)
  set(${result} OFF PARENT_SCOPE)
  find_program(VICINAL_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin DOC "CUDA's compiler; optional")
  if(NOT VICINAL_NVCC)
    return()
  endif()
  set(probe "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/probe.cu")
  file(WRITE "${probe}" "extern \"C\" __global__ void probe() {}\n")
  execute_process(COMMAND "${VICINAL_NVCC}" ${ARGN} -o "${probe}.fatbin" "${probe}"
                  RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
  if(status EQUAL 0)
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

set(nvcc_options -fatbin -arch=all-major -compress-mode=size)
if(VICINAL_PRECOMPILED_KERNELS AND NOT DEFINED CACHE{VICINAL_NVCC_WORKS})
  vicinal_try_nvcc(works ${nvcc_options})
  set(VICINAL_NVCC_WORKS ${works} CACHE INTERNAL "whether CUDA's compiler can compile the kernels")
endif()
# The header exists in either case. Without code it is written at configure time, so that tools that
# only read sources find it.
set(kernels_header "${generated_dir}/precompiled_kernels.hpp")
set(embed "${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_kernels.cmake")
if(VICINAL_PRECOMPILED_KERNELS AND VICINAL_NVCC_WORKS)
  set(fatbin "${generated_dir}/kernels.fatbin")
  add_custom_command(OUTPUT "${fatbin}" COMMAND "${VICINAL_NVCC}" ${nvcc_options} -o "${fatbin}" "${kernels}"
                     DEPENDS "${kernels}" COMMENT "Compiling the kernels for NVIDIA's GPUs" VERBATIM)
  add_custom_command(OUTPUT "${kernels_header}" COMMAND ${CMAKE_COMMAND} "-DFROM=${fatbin}" "-DTO=${kernels_header}" -P "${embed}"
                     DEPENDS "${fatbin}" "${embed}" VERBATIM)
  add_custom_target(vicinal_kernels DEPENDS "${kernels_header}")
else()
  execute_process(COMMAND ${CMAKE_COMMAND} "-DFROM=" "-DTO=${kernels_header}" -P "${embed}" COMMAND_ERROR_IS_FATAL ANY)
  add_custom_target(vicinal_kernels)
endif()
