# Tests, benchmarks and examples.
#
# C++ tests use the library's internals, whose symbols are hidden, and so link its objects. C tests
# act as users and link the shared library.

vicinal_glob(unit_sources tests/cpp/unit/*.cpp)
vicinal_glob(engine_sources tests/cpp/engine/*.cpp)
vicinal_glob(c_tests tests/c/*.c)
vicinal_glob(preload_programs tests/preload/*.c tests/preload/*.cpp)
vicinal_glob(preload_benches bench/preload/*.c)
vicinal_glob(ratchet_sources bench/ratchet/*.cpp)
vicinal_glob(examples examples/*.c)
vicinal_glob(benches bench/*.cpp)
vicinal_glob(fuzz_sources tests/fuzz/*.cpp)

function(vicinal_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK;INCLUDE")
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_include_directories(${name} PRIVATE ${ARG_INCLUDE})
endfunction()

# Optimized for compilation time, not for run time, and all with equal options. Each file has its own
# namespace, so that any files may be compiled together.
set(tests_dir "${CMAKE_CURRENT_SOURCE_DIR}/tests/cpp")
function(vicinal_add_tests name)
  vicinal_add_program(${name} ${ARGN} INCLUDE "${tests_dir}")
  target_compile_options(${name} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O0>
                         $<$<STREQUAL:${VICINAL_SANITIZE},short>:-fno-sanitize=undefined>)
  # Files compile fastest in large batches, except with the sanitizers.
  set(batch 32)
  if(VICINAL_SANITIZE)
    set(batch 8)
  endif()
  vicinal_unite(${name} UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# A simulated GPU driver with either vendor's interface. Tests find it by its path.
set(doubles)
foreach(interface cuda hip)
  set(double vicinal_driver_double_${interface})
  add_library(${double} MODULE tests/driver/${interface}.cpp tests/driver/simulated.cpp tests/driver/simulated_memory.cpp
              tests/driver/numbers.cpp tests/driver/host_kernels.cpp)
  target_include_directories(${double} PRIVATE src "${CMAKE_CURRENT_BINARY_DIR}/generated")
  target_compile_options(${double} PRIVATE -Wall -Wextra -Wno-missing-declarations -O1 -fno-strict-aliasing
                         $<$<BOOL:${VICINAL_WERROR}>:-Werror>)
  target_link_libraries(${double} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  list(APPEND doubles ${double})
endforeach()
function(vicinal_use_doubles target)
  add_dependencies(${target} ${doubles})
  target_compile_definitions(${target} PRIVATE "DRIVER_DOUBLE_CUDA=\"$<TARGET_FILE:vicinal_driver_double_cuda>\""
                             "DRIVER_DOUBLE_HIP=\"$<TARGET_FILE:vicinal_driver_double_hip>\"")
endfunction()

# The standard's ABI belongs to one of these MPIs: `make test`, the fuzzer and the benchmarks skip
# it.
set(own_abis ${VICINAL_ABIS})
list(REMOVE_ITEM own_abis abi)

vicinal_add_tests(vicinal_unit_tests SOURCES ${unit_sources} LINK vicinal_core)
vicinal_use_doubles(vicinal_unit_tests)
vicinal_precompile(vicinal_unit_tests)
# This test compares the header's documentation of settings with their table.
set_source_files_properties("${tests_dir}/unit/settings.cpp" PROPERTIES COMPILE_DEFINITIONS
                            "VICINAL_HEADER=\"${CMAKE_CURRENT_SOURCE_DIR}/include/vicinal/vicinal.h\"")

# `ctest` runs the C++ tests without Python: the unit tests, and the engine tests on 4 ranks of each
# MPI whose launcher is found. `make test` runs these and more.
enable_testing()
add_test(NAME unit COMMAND vicinal_unit_tests)
function(vicinal_add_engine_test abi)
  get_target_property(library vicinal_mpi_${abi} INTERFACE_LINK_LIBRARIES)
  list(GET library 0 library)
  cmake_path(GET library PARENT_PATH folder)
  find_program(launcher mpiexec PATHS "${folder}/../bin" NO_DEFAULT_PATH NO_CACHE)
  # The system's MPI has its launcher beside its compiler.
  if(NOT launcher AND MPI_C_COMPILER)
    cmake_path(GET MPI_C_COMPILER FILENAME compiler)
    cmake_path(GET MPI_C_COMPILER PARENT_PATH beside)
    string(REPLACE mpicc mpiexec name "${compiler}")
    find_program(launcher "${name}" PATHS "${beside}" NO_DEFAULT_PATH NO_CACHE)
  endif()
  if(NOT launcher)
    message(STATUS "vicinal: no engine tests of ${abi} for ctest: its mpiexec was not found")
    return()
  endif()
  add_test(NAME engine_${abi} COMMAND "${launcher}" -n 4 $<TARGET_FILE:vicinal_engine_tests_${abi}>)
  # For more ranks than cores, perhaps as root in a container.
  set_tests_properties(engine_${abi} PROPERTIES RUN_SERIAL ON ENVIRONMENT
                       "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;\
OMPI_MCA_osc=^ucx;OMPI_MCA_btl=^ofi;VICINAL_CORES=0;OMPI_MCA_rmaps_base_oversubscribe=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
endfunction()

foreach(abi IN LISTS VICINAL_ABIS)
  vicinal_add_tests(vicinal_engine_tests_${abi} SOURCES ${engine_sources} LINK vicinal_core vicinal_objects_${abi})
  vicinal_use_doubles(vicinal_engine_tests_${abi})
  vicinal_precompile(vicinal_engine_tests_${abi} LIKE vicinal_unit_tests)
  foreach(kind c_tests examples)
    foreach(source IN LISTS ${kind})
      cmake_path(GET source STEM name)
      vicinal_add_program(${name}_${abi} SOURCES ${source} LINK vicinal_${abi} Threads::Threads)
      target_compile_options(${name}_${abi} PRIVATE -Wall -Wextra -Wpedantic
                             $<$<BOOL:${VICINAL_WERROR}>:-Werror>)
      set_target_properties(${name}_${abi} PROPERTIES
                            RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${kind}")
      if(VICINAL_SANITIZE)
        target_link_options(${name}_${abi} PRIVATE -fsanitize=address,undefined)
      endif()
    endforeach()
  endforeach()
endforeach()

foreach(abi IN LISTS own_abis)
  vicinal_add_engine_test(${abi})
  # The fuzzer acts as a C++ user.
  vicinal_add_program(vicinal_fuzz_${abi} SOURCES ${fuzz_sources} LINK vicinal_${abi} Threads::Threads)
  vicinal_unite(vicinal_fuzz_${abi} UNITY_BUILD_BATCH_SIZE 8)
  target_compile_options(vicinal_fuzz_${abi} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wconversion
                         $<$<BOOL:${VICINAL_WERROR}>:-Werror>)
  if(VICINAL_SANITIZE)
    target_link_options(vicinal_fuzz_${abi} PRIVATE -fsanitize=address,undefined)
  endif()
  foreach(source IN LISTS benches)
    cmake_path(GET source STEM name)
    vicinal_add_program(${name}_${abi} SOURCES ${source} LINK vicinal_core vicinal_objects_${abi}
                        INCLUDE "${CMAKE_CURRENT_SOURCE_DIR}/bench")
    set_target_properties(${name}_${abi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  endforeach()
endforeach()

# These programs load the libraries that they compare.
set(path_sources bench/path/path.cpp)
foreach(abi IN LISTS own_abis)
  foreach(name ratchet path)
    vicinal_add_program(${name}_${abi} SOURCES ${${name}_sources} LINK vicinal_flags vicinal_mpi_${abi} ${CMAKE_DL_LIBS}
                        INCLUDE "${CMAKE_CURRENT_SOURCE_DIR}/bench")
    set_target_properties(${name}_${abi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  endforeach()
endforeach()

# Programs that know nothing of vicinal.
foreach(abi IN LISTS VICINAL_ABIS)
  foreach(source IN LISTS preload_programs)
    cmake_path(GET source STEM name)
    vicinal_add_program(${name}_preload_${abi} SOURCES ${source} LINK vicinal_mpi_${abi} Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_options(${name}_preload_${abi} PRIVATE -Wall -Wextra -Wno-address $<$<BOOL:${VICINAL_WERROR}>:-Werror>)
    # Symbols that a program defines, such as operator new, must serve libraries, too.
    set_target_properties(${name}_preload_${abi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/preload" ENABLE_EXPORTS ON)
  endforeach()
  foreach(source IN LISTS preload_benches)
    cmake_path(GET source STEM name)
    vicinal_add_program(${name}_${abi} SOURCES ${source} LINK vicinal_mpi_${abi})
    target_compile_options(${name}_${abi} PRIVATE -Wall -Wextra -Wno-address)
    set_target_properties(${name}_${abi} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bench")
  endforeach()
endforeach()

# The targets that `make test` runs.
set(run_by_tests vicinal_unit_tests)
if(TARGET vicinal_python_core)
  list(APPEND run_by_tests vicinal_python_core)
endif()
foreach(abi IN LISTS own_abis)
  list(APPEND run_by_tests vicinal_engine_tests_${abi} vicinal_${abi})
  foreach(target vicinal_python_mpi_${abi} vicinal_preload_${abi} vicinal_mpi)
    if(TARGET ${target})
      list(APPEND run_by_tests ${target})
    endif()
  endforeach()
  foreach(source IN LISTS c_tests examples)
    cmake_path(GET source STEM name)
    list(APPEND run_by_tests ${name}_${abi})
  endforeach()
  foreach(source IN LISTS preload_programs)
    cmake_path(GET source STEM name)
    list(APPEND run_by_tests ${name}_preload_${abi})
  endforeach()
endforeach()
add_custom_target(vicinal_test_programs DEPENDS ${run_by_tests})
list(TRANSFORM own_abis PREPEND vicinal_fuzz_ OUTPUT_VARIABLE fuzzers)
add_custom_target(vicinal_fuzz DEPENDS ${fuzzers} vicinal_preload)
