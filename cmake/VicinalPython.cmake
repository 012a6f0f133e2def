# The Python modules.
#
# _core is MPI-free; _mpi_<abi> holds one ABI's build of the library. It is imported after
# mpi4py.MPI, which has already loaded libmpi. It needs the soname, and must have no RPATH that
# could load a second MPI into the process.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
                OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(python_output "${CMAKE_BINARY_DIR}/python")
set(python_modules "")
set(python_stubs "")

function(vicinal_python_module name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  nanobind_add_module(${name} NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  target_compile_definitions(${name} PRIVATE VICINAL_MODULE=${name})
  vicinal_unite(${name} UNITY_BUILD_BATCH_SIZE 8)
  set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${python_output}"
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "" INSTALL_RPATH_USE_LINK_PATH OFF)
  # The wheel installs this component; an installation for C does not.
  install(TARGETS ${name} LIBRARY DESTINATION vicinal COMPONENT python EXCLUDE_FROM_ALL)
  set(python_modules ${python_modules} ${name} PARENT_SCOPE)
endfunction()

vicinal_glob(core_bindings python/bindings/core*.cpp)
vicinal_glob(mpi_bindings python/bindings/mpi*.cpp)
if(core_bindings)
  vicinal_python_module(_core SOURCES ${core_bindings} LINK vicinal_core)
  nanobind_add_stub(_core_stub MODULE _core PYTHON_PATH "${python_output}" DEPENDS _core
                    OUTPUT "${python_output}/_core.pyi")
  install(FILES "${python_output}/_core.pyi" DESTINATION vicinal COMPONENT python
          EXCLUDE_FROM_ALL)
  list(APPEND python_stubs "${python_output}/_core.pyi")
endif()
if(mpi_bindings)
  foreach(abi IN LISTS VICINAL_ABIS)
    vicinal_python_module(_mpi_${abi} SOURCES ${mpi_bindings}
                          LINK vicinal_core vicinal_objects_${abi})
  endforeach()
endif()

# The preload library and its builds are in a package folder, where `vicinal preload` finds them.
foreach(target IN LISTS vicinal_preload_targets)
  install(TARGETS ${target} LIBRARY DESTINATION vicinal/_preload COMPONENT python EXCLUDE_FROM_ALL)
endforeach()

# In development the package is imported from the source tree. Every build copies the modules there
# instead of linking them, because build folders with different MPIs share that folder. Each copy is
# a separate target, for partial builds; vicinal_python includes all of them.
add_custom_target(vicinal_python ALL DEPENDS ${python_modules} ${python_stubs})
foreach(module IN LISTS python_modules)
  set(files $<TARGET_FILE:${module}>)
  if(module STREQUAL "_core")
    list(APPEND files ${python_stubs})
  endif()
  set(copies "")
  if(NOT SKBUILD)
    set(copies COMMAND ${CMAKE_COMMAND} -E copy_if_different ${files} "${PROJECT_SOURCE_DIR}/python/vicinal")
  endif()
  add_custom_target(vicinal_python${module} ${copies} DEPENDS ${module} ${files} VERBATIM)
  add_dependencies(vicinal_python vicinal_python${module})
endforeach()

# A separate target, since most users of the modules do not need the preload library.
set(vicinal_copies "")
if(NOT SKBUILD)
  foreach(target IN LISTS vicinal_preload_targets)
    list(APPEND vicinal_copies COMMAND ${CMAKE_COMMAND} -E copy_if_different $<TARGET_FILE:${target}>
                                       "${PROJECT_SOURCE_DIR}/python/vicinal/_preload")
  endforeach()
  list(PREPEND vicinal_copies COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_SOURCE_DIR}/python/vicinal/_preload")
endif()
add_custom_target(vicinal_python_preload ALL ${vicinal_copies} DEPENDS ${vicinal_preload_targets} VERBATIM)
