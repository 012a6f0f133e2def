# The preload library, and the builds of vicinal that it loads, one for each MPI.
#
# A build consists of the library's objects and those of src/interpose. The calls of MPI_X in them
# are renamed to PMPI_X. It is linked to no MPI, and uses the one that the program has loaded.
set(vicinal_preload_targets "")
add_custom_target(vicinal_preload)
if(APPLE OR NOT CMAKE_OBJCOPY)
  message(STATUS "vicinal: no preload library (it needs ELF and objcopy)")
  return()
endif()

vicinal_glob(interpose_sources src/interpose/*.cpp)

add_library(vicinal_mpi SHARED src/interpose/preload.c)
target_link_libraries(vicinal_mpi PRIVATE vicinal_flags ${CMAKE_DL_LIBS})
# dlsym of POSIX returns functions as data pointers, which ISO C forbids.
set_source_files_properties(src/interpose/preload.c PROPERTIES COMPILE_OPTIONS -Wno-pedantic)
list(APPEND vicinal_preload_targets vicinal_mpi)

foreach(abi IN LISTS VICINAL_ABIS)
  add_library(vicinal_interpose_${abi} OBJECT ${interpose_sources})
  target_link_libraries(vicinal_interpose_${abi} PUBLIC vicinal_flags vicinal_mpi_${abi})
  vicinal_precompile(vicinal_interpose_${abi} LIKE vicinal_core)
  vicinal_unite_layers(vicinal_interpose_${abi})

  # MPI_Finalize is defined in src/interpose instead.
  set(objects "$<FILTER:$<TARGET_OBJECTS:vicinal_objects_${abi}>,EXCLUDE,finalize>"
              "$<TARGET_OBJECTS:vicinal_interpose_${abi}>")
  set(renamed "${CMAKE_BINARY_DIR}/preload/${abi}.o")
  add_custom_command(
    OUTPUT "${renamed}"
    COMMAND ${CMAKE_COMMAND} -DLD=${CMAKE_LINKER} -DNM=${CMAKE_NM} -DOBJCOPY=${CMAKE_OBJCOPY}
            "-DOBJECTS=${objects}" -DRESULT=${renamed}
            -DFUNCTIONS=${PROJECT_SOURCE_DIR}/src/interpose/functions.h -P "${PROJECT_SOURCE_DIR}/cmake/call_pmpi.cmake"
    DEPENDS ${objects} "${PROJECT_SOURCE_DIR}/cmake/call_pmpi.cmake"
            "${PROJECT_SOURCE_DIR}/src/interpose/functions.h" VERBATIM)

  add_library(vicinal_preload_${abi} SHARED "${renamed}")
  set_source_files_properties("${renamed}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  target_link_libraries(vicinal_preload_${abi} PRIVATE vicinal_core ${CMAKE_DL_LIBS})
  target_link_options(vicinal_preload_${abi} PRIVATE
                      LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/interposed.map LINKER:-z,undefs)
  set_target_properties(vicinal_preload_${abi} PROPERTIES
                        OUTPUT_NAME vicinal_mpi-${abi} LINKER_LANGUAGE CXX
                        LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/interposed.map)
  list(APPEND vicinal_preload_targets vicinal_preload_${abi})
endforeach()
add_dependencies(vicinal_preload ${vicinal_preload_targets})
