// expect_error: a call must throw kernels::Error of a scope, whose sentence contains all the given parts.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "kernels/error.hpp"

namespace tenax::parallel {

template <class Call>
void expect_error(kernels::Scope scope, std::initializer_list<std::string> parts, Call call) {
  try {
    call();
    FAIL() << "nothing was thrown";
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), scope);
    for (const std::string& part : parts)
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "\"" << part << "\" not in: " << error.what();
  }
}

}  // namespace tenax::parallel
