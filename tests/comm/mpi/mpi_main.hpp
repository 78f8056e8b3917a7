// The world that the tests under mpirun share.
#pragma once

#include <gtest/gtest.h>

#include "comm/world.hpp"

namespace tenax::comm {

World& test_world();

}  // namespace tenax::comm
