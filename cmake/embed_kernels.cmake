# Writes the bytes of the file FROM, or none if FROM is empty, to the C++ header TO.
set(bytes "")
if(FROM)
  file(READ "${FROM}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "((0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,)(0x..,))" "\\1\n" bytes "${bytes}")
endif()
# An unchanged file is not written again.
file(CONFIGURE OUTPUT "${TO}" @ONLY CONTENT "// Made by cmake/embed_kernels.cmake.
#pragma once

namespace vicinal::device {

/// The bytes and a final 0, so that the array is not empty.
alignas(16) inline constexpr unsigned char precompiled_bytes[] = {${bytes}0};

}  // namespace vicinal::device
")
