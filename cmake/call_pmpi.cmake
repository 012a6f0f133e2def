# Links many objects into one, and renames calls of MPI_X to PMPI_X, so that they bypass the
# interposed MPI_X. If PMPI_X is interposed as well (FUNCTIONS), the new name is vicinal_own_X.
# Names such as MPI_XYZ are data and stay.
get_filename_component(folder "${RESULT}" DIRECTORY)
file(MAKE_DIRECTORY "${folder}")
string(REPLACE ";" "\"\n\"" list "${OBJECTS}")
file(WRITE "${RESULT}.list" "\"${list}\"\n")
execute_process(COMMAND ${LD} -r -o "${RESULT}.all" "@${RESULT}.list" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NM} -u "${RESULT}.all" OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
file(READ "${FUNCTIONS}" functions)
string(REGEX MATCHALL "[ \t]MPIX?_[A-Z][a-z][A-Za-z0-9_]+" calls "${undefined}")
set(renames "")
foreach(call IN LISTS calls)
  string(STRIP "${call}" call)
  string(REGEX REPLACE "^MPI_" "" name "${call}")
  if(functions MATCHES "X\\(${name}, ")
    string(APPEND renames "${call} vicinal_own_${name}\n")
  else()
    string(APPEND renames "${call} P${call}\n")
  endif()
endforeach()
file(WRITE "${RESULT}.renames" "${renames}")
execute_process(COMMAND ${OBJCOPY} "--redefine-syms=${RESULT}.renames" "${RESULT}.all" "${RESULT}"
                COMMAND_ERROR_IS_FATAL ANY)
