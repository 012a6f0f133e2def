# Installs for C and C++ users: headers, a library per ABI, find_package(vicinal) and pkg-config
# files. Components: `runtime` (libraries that programs load), `preload`, and `development`.
include(CMakePackageConfigHelpers)

set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vicinal")
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

# Relative to the file itself, so that installations can be moved.
file(RELATIVE_PATH pc_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pc_prefix "${pc_prefix}")
set(mpi_records "")
add_custom_target(vicinal_installed DEPENDS vicinal_preload)
foreach(abi IN LISTS VICINAL_ABIS)
  add_dependencies(vicinal_installed vicinal_${abi})
  install(TARGETS vicinal_${abi} EXPORT vicinal-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT runtime NAMELINK_COMPONENT development)
  if(VICINAL_STATIC)
    add_dependencies(vicinal_installed vicinal_${abi}_static)
    install(TARGETS vicinal_${abi}_static EXPORT vicinal-targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            COMPONENT development)
  endif()
  get_target_property(mpi_include vicinal_mpi_${abi} INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(mpi_library vicinal_mpi_${abi} INTERFACE_LINK_LIBRARIES)
  get_target_property(mpi_definitions vicinal_mpi_${abi} INTERFACE_COMPILE_DEFINITIONS)
  string(APPEND mpi_records
         "vicinal_import_mpi(${abi} \"${mpi_include}\" \"${mpi_library}\" \"${mpi_definitions}\")\n")

  list(TRANSFORM mpi_definitions REPLACE "(.+)" "-D\\1 " OUTPUT_VARIABLE pc_definitions)
  list(TRANSFORM mpi_include REPLACE "(.+)" "-I\"\\1\"" OUTPUT_VARIABLE pc_include)
  list(TRANSFORM mpi_library REPLACE "(.+)" "\"\\1\"" OUTPUT_VARIABLE pc_libraries)
  list(JOIN pc_definitions "" pc_definitions)
  list(JOIN pc_include " " pc_include)
  list(JOIN pc_libraries " " pc_libraries)
  list(GET mpi_library 0 first_library)
  cmake_path(GET first_library PARENT_PATH pc_library_dir)
  set(pc_abi ${abi})
  set(pc_names vicinal-${abi})
  if(abi STREQUAL default_abi)
    list(APPEND pc_names vicinal)
  endif()
  foreach(pc_name IN LISTS pc_names)
    configure_file(cmake/vicinal.pc.in "${CMAKE_BINARY_DIR}/${pc_name}.pc" @ONLY)
    install(FILES "${CMAKE_BINARY_DIR}/${pc_name}.pc" DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
            COMPONENT development)
  endforeach()
endforeach()

if(vicinal_preload_targets)
  install(TARGETS ${vicinal_preload_targets} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT preload)
endif()

install(EXPORT vicinal-targets NAMESPACE vicinal:: DESTINATION ${config_dir} COMPONENT development)
configure_package_config_file(cmake/vicinal-config.cmake.in "${CMAKE_BINARY_DIR}/vicinal-config.cmake"
                              INSTALL_DESTINATION ${config_dir})
# Before 1.0 a minor version may change anything (docs/versioning.md).
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
endif()
write_basic_package_version_file("${CMAKE_BINARY_DIR}/vicinal-config-version.cmake" COMPATIBILITY ${compatibility})
install(FILES "${CMAKE_BINARY_DIR}/vicinal-config.cmake" "${CMAKE_BINARY_DIR}/vicinal-config-version.cmake"
        DESTINATION ${config_dir} COMPONENT development)
