# Read by CMake when it builds LevelDB. `leveldb-sys` silences warnings, and that makes LevelDB's test for Clang's thread annotations pass
# with GCC, which then refuses the option.
if(NOT CMAKE_CXX_COMPILER MATCHES "clang")
  set(HAVE_CLANG_THREAD_SAFETY OFF CACHE BOOL "Clang's thread annotations" FORCE)
endif()
