// What a link or connection complained about, for tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernels/error.hpp"

namespace tenax::comm {

/// What `work` says went wrong; an Error of scope `scope` is expected. "no error" where it went well.
inline std::string error_of(const std::function<void()>& work, kernels::Scope scope = kernels::Scope::link) {
  try {
    work();
  } catch (const kernels::Error& error) {
    EXPECT_EQ(error.scope(), scope) << error.what();
    return error.what();
  }
  return "no error";
}

}  // namespace tenax::comm
