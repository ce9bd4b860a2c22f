// SPDX-License-Identifier: Apache-2.0
// The Python modules that an engine built into an extension needs, as text. cmake/anyarrayEngine.cmake writes them.
#pragma once

namespace anyarray {

struct BuiltInModule {
  const char* name;  ///< null behind the last one
  const char* text;
};
extern const BuiltInModule built_in_modules[];
/// What makes them importable: in_extension.py.
extern const char* const built_in_importer;

}  // namespace anyarray
