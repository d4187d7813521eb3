# Tells find_package which version is installed, which the header says, and whether it will do: versions are
# compatible where the shared libraries have the same name, see build.rs.

file(
  STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../../include/vkxfb.h" vkxfb_lines
  REGEX "^#define VKXFB_VERSION_(MAJOR|MINOR|PATCH) "
)
string(REGEX REPLACE "[^0-9;]" "" vkxfb_lines "${vkxfb_lines}")
list(JOIN vkxfb_lines "." PACKAGE_VERSION)

string(REGEX MATCH "^(0\\.)?[0-9]+" vkxfb_compatible "${PACKAGE_VERSION}")
string(REGEX MATCH "^(0\\.)?[0-9]+" vkxfb_wanted "${PACKAGE_FIND_VERSION}")
if(PACKAGE_FIND_VERSION STREQUAL "")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
elseif(PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
elseif(vkxfb_wanted STREQUAL vkxfb_compatible)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()

# Whether the libraries are for a machine like the program's. install.sh writes above how large their pointers are; where
# nothing is written, or the project has no language yet, nothing is checked.
if(
  NOT "${vkxfb_sizeof_void_p}" STREQUAL ""
  AND NOT "${CMAKE_SIZEOF_VOID_P}" STREQUAL ""
  AND NOT "${vkxfb_sizeof_void_p}" STREQUAL "${CMAKE_SIZEOF_VOID_P}"
)
  math(EXPR vkxfb_bits "${vkxfb_sizeof_void_p} * 8")
  # Messages of CMake tell it.
  set(PACKAGE_VERSION "${PACKAGE_VERSION} (${vkxfb_bits}bit)")
  set(PACKAGE_VERSION_UNSUITABLE TRUE)
endif()
