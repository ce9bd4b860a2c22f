# SPDX-License-Identifier: Apache-2.0
# Installs what C++ projects use: headers, the static core, the CMake package and the pkg-config files. All of it is
# relocatable, as long as the folders of GNUInstallDirs are relative.
include(CMakePackageConfigHelpers)
set(_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/anyarray)
set(_engine_dir ${CMAKE_INSTALL_DATADIR}/anyarray)
set(_pc_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/anyarray DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING REGEX "\\.(h|def|pxd)$")
install(TARGETS anyarray_core anyarray_headers anyarray_python EXPORT anyarrayTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)

install(EXPORT anyarrayTargets NAMESPACE anyarray:: DESTINATION ${_config_dir} COMPONENT development)
configure_package_config_file(cmake/anyarrayConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/anyarrayConfig.cmake
                              INSTALL_DESTINATION ${_config_dir} PATH_VARS _engine_dir)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/anyarrayConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES cmake/anyarrayEngine.cmake ${CMAKE_CURRENT_BINARY_DIR}/anyarrayConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/anyarrayConfigVersion.cmake
        DESTINATION ${_config_dir} COMPONENT development)

# What anyarray_add_engine() builds into extensions.
install(DIRECTORY src DESTINATION ${_engine_dir} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN "*.cpp" PATTERN "in_extension.py"
        PATTERN "*_test.cpp" EXCLUDE)
get_property(_engine_modules GLOBAL PROPERTY ANYARRAY_ENGINE_MODULES)
foreach(_module ${_engine_modules})
  get_filename_component(_folder python/anyarray/${_module} DIRECTORY)
  install(FILES python/anyarray/${_module}.py DESTINATION ${_engine_dir}/${_folder} COMPONENT development)
endforeach()

# pkg-config: folders relative to where the file lies, but those that were given as absolute paths.
file(RELATIVE_PATH _up "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
string(REGEX REPLACE "/$" "" _up "${_up}")
set(_pc_prefix "\${pcfiledir}/${_up}")
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(_pc_prefix "${CMAKE_INSTALL_PREFIX}")
endif()
foreach(_folder INCLUDEDIR LIBDIR)
  set(_pc_${_folder} "\${prefix}/${CMAKE_INSTALL_${_folder}}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${_folder}}")
    set(_pc_${_folder} "${CMAKE_INSTALL_${_folder}}")
  endif()
endforeach()
# What a program that isn't linked by a C++ compiler needs beside the core: the core's mutexes.
set(_pc_private "")
foreach(_library stdc++ c++)
  if(_library IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    string(APPEND _pc_private " -l${_library}")
  endif()
endforeach()
set(_pc_threads "")
if(CMAKE_THREAD_LIBS_INIT)
  set(_pc_threads " ${CMAKE_THREAD_LIBS_INIT}")
endif()
foreach(_pc anyarray anyarray-core)
  configure_file(cmake/${_pc}.pc.in ${CMAKE_CURRENT_BINARY_DIR}/${_pc}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${_pc}.pc DESTINATION ${_pc_dir} COMPONENT development)
endforeach()
