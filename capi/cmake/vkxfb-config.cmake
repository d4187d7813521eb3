# find_package(vkxfb) defines a target for each library that is installed:
#
#   vkxfb::vkxfb    the shared library
#   vkxfb::static   the static library, with the system libraries that it needs
#
# The headers of Vulkan, and its loader where the program links it, are the program's: Vulkan::Vulkan or Vulkan::Headers.

# This file is in PREFIX/share/cmake/vkxfb.
get_filename_component(vkxfb_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(kind SHARED STATIC)
  if(kind STREQUAL SHARED AND WIN32)
    # MinGW's import library. The DLL is found by its name when the program runs.
    set(vkxfb_name "libvkxfb.dll.a")
  else()
    set(vkxfb_name "${CMAKE_${kind}_LIBRARY_PREFIX}vkxfb${CMAKE_${kind}_LIBRARY_SUFFIX}")
  endif()
  # Never a result of an earlier search, which may have been for another prefix.
  unset(vkxfb_${kind}_library CACHE)
  find_library(
    vkxfb_${kind}_library
    NAMES "${vkxfb_name}"
    PATHS "${vkxfb_prefix}"
    PATH_SUFFIXES lib lib64 "lib/${CMAKE_LIBRARY_ARCHITECTURE}"
    NO_DEFAULT_PATH
  )
  mark_as_advanced(vkxfb_${kind}_library)
endforeach()

if(vkxfb_SHARED_library AND NOT TARGET vkxfb::vkxfb)
  if(WIN32)
    add_library(vkxfb::vkxfb UNKNOWN IMPORTED)
  else()
    add_library(vkxfb::vkxfb SHARED IMPORTED)
  endif()
  set_target_properties(
    vkxfb::vkxfb
    PROPERTIES
      IMPORTED_LOCATION "${vkxfb_SHARED_library}"
      INTERFACE_INCLUDE_DIRECTORIES "${vkxfb_prefix}/include"
  )
endif()

if(vkxfb_STATIC_library AND NOT TARGET vkxfb::static)
  add_library(vkxfb::static STATIC IMPORTED)
  set_target_properties(
    vkxfb::static
    PROPERTIES
      IMPORTED_LOCATION "${vkxfb_STATIC_library}"
      INTERFACE_INCLUDE_DIRECTORIES "${vkxfb_prefix}/include"
  )
  if(UNIX AND NOT APPLE)
    set_property(
      TARGET vkxfb::static PROPERTY INTERFACE_LINK_LIBRARIES gcc_s pthread m dl
    )
  endif()
endif()

if(NOT TARGET vkxfb::vkxfb AND NOT TARGET vkxfb::static)
  set(vkxfb_FOUND FALSE)
  set(vkxfb_NOT_FOUND_MESSAGE "neither a shared nor a static library is in ${vkxfb_prefix}")
endif()
