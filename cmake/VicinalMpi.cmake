# Finds the MPIs to build for.
#
# An MPI is only an imported library vicinal_mpi_<abi>. There is no compiler wrapper, and no flag
# that would store the path of this machine's MPI in a Python module that another machine loads.

# Finds the shared library under `prefix`. The wheels' lib/libmpi.so is a linker script, so the file
# with the version in its name is taken.
function(vicinal_libmpi prefix result)
  file(GLOB found "${prefix}/lib/libmpi.so.[0-9]*" "${prefix}/lib/libmpi.[0-9]*.dylib"
                  "${prefix}/lib64/libmpi.so.[0-9]*")
  list(SORT found)
  if(found)
    list(GET found 0 found)
  endif()
  set(${result} "${found}" PARENT_SCOPE)
endfunction()

# Imports an MPI, without the C++ bindings in mpi.h, whose library C programs do not link.
function(vicinal_import_mpi abi include_dirs library)
  add_library(vicinal_mpi_${abi} INTERFACE IMPORTED GLOBAL)
  set_target_properties(vicinal_mpi_${abi} PROPERTIES
                        INTERFACE_INCLUDE_DIRECTORIES "${include_dirs}"
                        INTERFACE_COMPILE_DEFINITIONS "OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX;${ARGN}"
                        INTERFACE_LINK_LIBRARIES "${library}")
  set(VICINAL_ABIS ${VICINAL_ABIS} ${abi} PARENT_SCOPE)
  message(STATUS "vicinal: ${abi} from ${library}")
endfunction()

# Unpacks a wheel into the build folder, for builds without a prefix (pip install).
function(vicinal_fetch_mpi name prefix)
  if(NOT VICINAL_FETCH_MPI AND NOT EXISTS "${prefix}/.ready")
    message(FATAL_ERROR "vicinal: no ${name} was found. Give -DVICINAL_MPI=system for the MPI whose mpicc is on PATH, "
                        "-DVICINAL_MPI_PREFIX_${name}=FOLDER, or -DVICINAL_FETCH_MPI=ON to download the wheel of it")
  endif()
  find_package(Python 3.10 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND "${Python_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/tools/get_mpi.py" ${name} "${prefix}"
                  RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "vicinal: ${name} could not be fetched; give -DVICINAL_MPI=system, or "
                        "-DVICINAL_MPI_PREFIX_${name}=FOLDER")
  endif()
endfunction()

# Imports the standard's own ABI (MPI 5.0, chapter 20) as `abi`, if an MPI also has a library for it
# and selects its header by MPI_ABI, as MPICH does from 5.0 on. It is last in the list, so that it
# is never the default.
function(vicinal_import_standard_abi include_dirs folder)
  find_file(header mpi_abi.h PATHS ${include_dirs} NO_DEFAULT_PATH NO_CACHE)
  file(GLOB library "${folder}/libmpi_abi.so.[0-9]*")
  if(TARGET vicinal_mpi_abi OR NOT header OR NOT library)
    return()
  endif()
  cmake_path(REPLACE_FILENAME header mpi.h OUTPUT_VARIABLE chooser)
  file(STRINGS "${chooser}" chooses REGEX "ifdef +MPI_ABI")
  if(NOT chooses)
    return()
  endif()
  list(GET library 0 library)
  vicinal_import_mpi(abi "${include_dirs}" "${library}" MPI_ABI)
endfunction()

function(vicinal_use_prefix name)
  set(VICINAL_MPI_PREFIX_${name} "" CACHE PATH "Where ${name} is installed; empty: .mpi/${name}, or download it with VICINAL_FETCH_MPI")
  set(prefix "${VICINAL_MPI_PREFIX_${name}}")
  if(NOT prefix AND EXISTS "${PROJECT_SOURCE_DIR}/.mpi/${name}/.ready")
    set(prefix "${PROJECT_SOURCE_DIR}/.mpi/${name}")
  endif()
  if(NOT prefix)
    set(prefix "${PROJECT_BINARY_DIR}/mpi/${name}")
    vicinal_fetch_mpi(${name} "${prefix}")
  endif()
  vicinal_libmpi("${prefix}" library)
  if(NOT library OR NOT EXISTS "${prefix}/include/mpi.h")
    message(FATAL_ERROR "vicinal: ${prefix} holds no MPI (include/mpi.h and lib/libmpi.so.*)")
  endif()
  vicinal_import_mpi(${name} "${prefix}/include" "${library}")
  set(VICINAL_ABIS "${VICINAL_ABIS}" PARENT_SCOPE)
  cmake_path(GET library PARENT_PATH folder)
  vicinal_import_standard_abi("${prefix}/include" "${folder}")
endfunction()

# Imports the system's MPI under the name of its ABI, which MPICH and its derivatives share.
function(vicinal_use_system)
  find_package(MPI REQUIRED COMPONENTS C)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES ${MPI_C_INCLUDE_DIRS})
  check_symbol_exists(OMPI_MAJOR_VERSION mpi.h VICINAL_SYSTEM_IS_OPENMPI)
  check_symbol_exists(MPICH_VERSION mpi.h VICINAL_SYSTEM_IS_MPICH)
  check_symbol_exists(I_MPI_VERSION mpi.h VICINAL_SYSTEM_IS_INTEL)
  if(VICINAL_SYSTEM_IS_OPENMPI)
    set(abi openmpi)
  elseif(VICINAL_SYSTEM_IS_MPICH OR VICINAL_SYSTEM_IS_INTEL)
    set(abi mpich)
  else()
    message(FATAL_ERROR "vicinal: the system's MPI (${MPI_C_INCLUDE_DIRS}) is neither Open MPI nor of "
                        "MPICH's ABI; vicinal knows no other yet")
  endif()
  vicinal_import_mpi(${abi} "${MPI_C_INCLUDE_DIRS}" "${MPI_C_LIBRARIES}")
  set(VICINAL_ABIS "${VICINAL_ABIS}" PARENT_SCOPE)
  list(GET MPI_C_LIBRARIES 0 library)
  cmake_path(GET library PARENT_PATH folder)
  vicinal_import_standard_abi("${MPI_C_INCLUDE_DIRS}" "${folder}")
endfunction()

# Sets VICINAL_ABIS in the requested order: the first is the default for C users.
macro(vicinal_find_mpis)
  set(VICINAL_ABIS "")
  set(vicinal_wanted "${VICINAL_MPI}")
  if(vicinal_wanted STREQUAL "auto")
    set(vicinal_wanted "")
    file(GLOB vicinal_stamps CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/.mpi/*/.ready")
    foreach(vicinal_stamp IN LISTS vicinal_stamps)
      cmake_path(GET vicinal_stamp PARENT_PATH vicinal_folder)
      cmake_path(GET vicinal_folder FILENAME vicinal_name)
      list(APPEND vicinal_wanted ${vicinal_name})
    endforeach()
  endif()
  if(NOT vicinal_wanted)
    find_package(MPI QUIET COMPONENTS C)
    if(MPI_C_FOUND)
      set(vicinal_wanted system)
    else()
      set(vicinal_wanted mpich openmpi)
    endif()
  endif()
  foreach(vicinal_name IN LISTS vicinal_wanted)
    if(vicinal_name STREQUAL "system")
      vicinal_use_system()
    elseif(vicinal_name MATCHES "^(mpich|openmpi)$")
      vicinal_use_prefix(${vicinal_name})
    else()
      message(FATAL_ERROR "vicinal: VICINAL_MPI=${VICINAL_MPI}: ${vicinal_name} is not one of mpich, "
                          "openmpi, system, auto")
    endif()
  endforeach()
  if(TARGET vicinal_mpi_abi)
    list(APPEND VICINAL_ABIS abi)
  endif()
endmacro()
