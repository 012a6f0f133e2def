# The library for SMPI, SimGrid's simulated MPI, and a program that uses it: vicinal_smpi, built on
# request only.
#
# SMPI's ranks are threads of control in one process. Each loads a copy of the program, and so has
# its own globals and thread-local variables (smpi/privatization:dlopen). Therefore the program is a
# module that contains the library. All its names except `main` are local, so that no copy finds
# names of another. They precede SMPI's own, so tests/smpi/supplied.cpp can supply functions that
# SMPI lacks.
find_path(VICINAL_SMPI_INCLUDE_DIR smpi/smpi_helpers.h DOC "Where SimGrid's headers are")
find_library(VICINAL_SMPI_LIBRARY simgrid DOC "SimGrid")
if(NOT VICINAL_SMPI_INCLUDE_DIR OR NOT VICINAL_SMPI_LIBRARY)
  message(FATAL_ERROR "vicinal: VICINAL_SMPI=ON needs SimGrid, which is not found; install it (Debian, Ubuntu: apt install "
                      "libsimgrid-dev), or give VICINAL_SMPI_INCLUDE_DIR and VICINAL_SMPI_LIBRARY")
endif()

add_library(vicinal_mpi_smpi INTERFACE IMPORTED GLOBAL)
set_target_properties(vicinal_mpi_smpi PROPERTIES
                      INTERFACE_INCLUDE_DIRECTORIES "${VICINAL_SMPI_INCLUDE_DIR}/smpi;${VICINAL_SMPI_INCLUDE_DIR}"
                      INTERFACE_LINK_LIBRARIES "${VICINAL_SMPI_LIBRARY}"
                      # As in SMPI's compiler wrapper: sleeps take simulated time, malloc is the
                      # system's.
                      INTERFACE_COMPILE_OPTIONS
                      "SHELL:-include smpi/smpi_helpers.h;SHELL:-include \"${PROJECT_SOURCE_DIR}/tests/smpi/standard.hpp\""
                      INTERFACE_COMPILE_DEFINITIONS SMPI_NO_OVERRIDE_MALLOC)

vicinal_add_objects(smpi)
target_compile_options(vicinal_objects_smpi PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O1>)  # real time is not measured
vicinal_glob(smpi_sources tests/smpi/*.cpp)
add_library(vicinal_smpi MODULE ${smpi_sources})
target_link_libraries(vicinal_smpi PRIVATE vicinal_core vicinal_objects_smpi)
# Each rank has a copy, so debug information is stripped.
target_link_options(vicinal_smpi PRIVATE LINKER:--strip-all
                    LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/only_main.map)
set_target_properties(vicinal_smpi PROPERTIES PREFIX "" SUFFIX "" LINKER_LANGUAGE CXX
                      LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/smpi"
                      LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/only_main.map)
# These targets have other options, so they cannot reuse the precompiled header.
set_target_properties(vicinal_smpi vicinal_objects_smpi PROPERTIES EXCLUDE_FROM_ALL ON DISABLE_PRECOMPILE_HEADERS ON)
