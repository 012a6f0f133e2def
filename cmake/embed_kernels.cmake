# Writes the bytes of the file FROM, or none where that is empty, into the C++ header TO.
set(bytes "")
if(FROM)
  file(READ "${FROM}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
endif()
# Left as it is where it is the same.
file(CONFIGURE OUTPUT "${TO}" @ONLY CONTENT "// Made by cmake/embed_kernels.cmake.
#pragma once

namespace vicinal::device {

/// One more than there are.
alignas(16) inline constexpr unsigned char precompiled_bytes[] = {${bytes}0};

}  // namespace vicinal::device
")
