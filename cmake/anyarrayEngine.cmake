# SPDX-License-Identifier: Apache-2.0
# anyarray_add_engine(<target> [MODULE <name>])
#
# Builds the engine into an extension module, which then needs no package anyarray at run time: import_anyarray() of
# anyarray/python.h takes the table from inside. Call find_package(Python) with Development.Module before. MODULE is the
# full name under which the extension is imported, "package._extension" (default: the target's output name): types,
# exceptions and pickles of this engine name it. Not for extensions of the limited API. The engine is compiled once a
# project, without exceptions and RTTI; the target's own sources are compiled as before.
include_guard(GLOBAL)

# The core: no Python.
function(_anyarray_core_sources out root)
  file(GLOB sources CONFIGURE_DEPENDS ${root}/src/core/*.cpp ${root}/src/copy/*.cpp ${root}/src/policy/*.cpp
       ${root}/src/protocols/*/codec.cpp ${root}/src/protocols/*/codec_*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# All of the engine but src/home, which says where it lives.
function(_anyarray_engine_sources out root)
  _anyarray_core_sources(core ${root})
  file(GLOB sources CONFIGURE_DEPENDS ${root}/src/support/*.cpp ${root}/src/engine/*.cpp ${root}/src/quirks/*.cpp
       ${root}/src/python/*.cpp ${root}/src/protocols/*/adapter.cpp ${root}/src/protocols/*/adapter_*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  set(${out} ${sources} ${core} PARENT_SCOPE)
endfunction()

# Measured on the way of a borrow: pairing unrelated stores in vector registers costs more than it saves (1 ns), and so
# does the jump through the linkage table at each call into the interpreter. Functions begin at a fetch block: without
# that, a change in one place moved others by up to 40 ns of 250.
function(_anyarray_engine_settings target)
  target_compile_options(${target} PRIVATE -fno-exceptions -fno-rtti -fno-tree-slp-vectorize -fno-plt
                                           -falign-functions=32)
endfunction()

# The modules of the package that the functions of the table need, in the package's folder.
set_property(GLOBAL PROPERTY ANYARRAY_ENGINE_MODULES errors device _consumers explanation _dtypes _numpy _numbers
                                                     _rebuild _convert/__init__ _convert/entries _convert/limits
                                                     _convert/record _convert/resolve _convert/targets)

# Writes these modules, and what imports them, as a C++ source.
function(_anyarray_write_modules file root)
  get_property(modules GLOBAL PROPERTY ANYARRAY_ENGINE_MODULES)
  file(READ "${root}/src/home/in_extension.py" text)
  set(source "// Made by anyarray_add_engine() of the files that it names.\n#include \"src/home/built_in.h\"\n\n")
  string(APPEND source "namespace anyarray {\n\nconst char* const built_in_importer = R\"py_text(${text})py_text\";\n\n"
                       "const BuiltInModule built_in_modules[] = {\n")
  set(read "${root}/src/home/in_extension.py")
  foreach(module ${modules})
    list(APPEND read "${root}/python/anyarray/${module}.py")
    file(READ "${root}/python/anyarray/${module}.py" text)
    string(REPLACE "/__init__" "" name "${module}")
    string(REPLACE "/" "." name "${name}")
    string(APPEND source "{\"${name}\", R\"py_text(${text})py_text\"},\n")
  endforeach()
  string(APPEND source "{nullptr, nullptr}};\n\n}  // namespace anyarray\n")
  file(WRITE "${file}.new" "${source}")
  configure_file("${file}.new" "${file}" COPYONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${read})
endfunction()

function(_anyarray_make_engine)
  get_property(root GLOBAL PROPERTY ANYARRAY_ENGINE_ROOT)
  if(TARGET Python::Module)
    set(python Python::Module)
  elseif(TARGET Python3::Module)
    set(python Python3::Module)
  else()
    message(FATAL_ERROR "anyarray_add_engine() needs Python's headers: call find_package(Python 3.10 REQUIRED "
                        "COMPONENTS Interpreter Development.Module) before it")
  endif()
  _anyarray_engine_sources(sources ${root})
  set(modules "${CMAKE_CURRENT_BINARY_DIR}/anyarray_engine_modules.cpp")
  _anyarray_write_modules("${modules}" ${root})
  add_library(anyarray_engine OBJECT EXCLUDE_FROM_ALL ${sources} ${root}/src/home/in_extension.cpp ${modules})
  target_link_libraries(anyarray_engine PRIVATE anyarray::headers ${python})
  target_include_directories(anyarray_engine PRIVATE ${root})
  _anyarray_engine_settings(anyarray_engine)
  # -O3 is slower here (see DESIGN.md), and without a build type there would be no optimisation at all.
  target_compile_options(anyarray_engine PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O2>)
  set_target_properties(anyarray_engine PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden
                                                   VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
endfunction()

function(anyarray_add_engine target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MODULE" "")
  if(NOT TARGET ${target} OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "anyarray_add_engine(<target> [MODULE <full name of the extension>]): \"${target}\" must be a "
                        "target, and nothing else is understood (given: ${ARGN})")
  endif()
  set(name ${arg_MODULE})
  if(NOT name)
    get_target_property(name ${target} OUTPUT_NAME)
  endif()
  if(NOT name)
    set(name ${target})
  endif()
  if(NOT TARGET anyarray_engine)
    _anyarray_make_engine()
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:anyarray_engine>)
  target_compile_definitions(${target} PRIVATE "ANYARRAY_ENGINE=\"${name}\"")
  find_package(Threads REQUIRED)
  target_link_libraries(${target} PRIVATE anyarray::headers ${CMAKE_DL_LIBS} ${CMAKE_THREAD_LIBS_INIT})
endfunction()
