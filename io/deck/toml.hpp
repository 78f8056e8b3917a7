// toml++, header-only so that no shared library is needed at run time; for the deck_*.cpp files alone.
#pragma once

#define TOML_HEADER_ONLY 1
// 3.3.0 asserts on some malformed keys before it reports them; a deck must not abort a debug build.
#define TOML_ASSERT(condition) static_cast<void>(0)
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
