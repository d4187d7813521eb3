# find_package(vkxfb) defines a target for each library that is installed:
#
#   vkxfb::vkxfb    the shared library
#   vkxfb::static   the static library, with the system libraries that it needs; not on Windows
#
# The headers of Vulkan, and its loader where the program links it, are the program's: Vulkan::Vulkan or Vulkan::Headers.

# This file is in PREFIX/share/cmake/vkxfb.
get_filename_component(vkxfb_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(vkxfb_kinds SHARED STATIC)
if(WIN32)
  # Which libraries of Windows the static one needs is not known here.
  set(vkxfb_kinds SHARED)
endif()
set(vkxfb_directories lib lib64)
if(CMAKE_LIBRARY_ARCHITECTURE)
  # Before lib, which may have the library of another machine.
  list(INSERT vkxfb_directories 0 "lib/${CMAKE_LIBRARY_ARCHITECTURE}")
endif()

foreach(kind IN LISTS vkxfb_kinds)
  if(WIN32)
    # The import library, as MinGW and as MSVC name it. The DLL is found by its name when the program runs.
    set(vkxfb_names libvkxfb.dll.a vkxfb.dll.lib)
  else()
    set(vkxfb_names "${CMAKE_${kind}_LIBRARY_PREFIX}vkxfb${CMAKE_${kind}_LIBRARY_SUFFIX}")
  endif()
  # Never a result of an earlier search, which may have been for another prefix.
  unset(vkxfb_${kind}_library CACHE)
  # The prefix is known. Where a toolchain for another machine searches below its root alone, it is not put there again.
  find_library(
    vkxfb_${kind}_library
    NAMES ${vkxfb_names}
    PATHS "${vkxfb_prefix}"
    PATH_SUFFIXES ${vkxfb_directories}
    NO_DEFAULT_PATH
    NO_CMAKE_FIND_ROOT_PATH
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
  if(ANDROID)
    # Its C library has the threads, and its NDK no libgcc_s.
    set_property(
      TARGET vkxfb::static PROPERTY INTERFACE_LINK_LIBRARIES dl m log unwind
    )
  elseif(UNIX AND NOT APPLE)
    set_property(
      TARGET vkxfb::static PROPERTY INTERFACE_LINK_LIBRARIES gcc_s pthread m dl
    )
  endif()
endif()

if(NOT TARGET vkxfb::vkxfb AND NOT TARGET vkxfb::static)
  set(vkxfb_FOUND FALSE)
  set(vkxfb_NOT_FOUND_MESSAGE "no library that CMake can use here is in ${vkxfb_prefix}")
endif()
