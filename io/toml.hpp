// toml++, header-only so that no shared library is needed at run time; for the deck_*.cpp files alone.
#pragma once

#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
