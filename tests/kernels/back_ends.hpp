// The devices of this machine, for tests that every back end must pass.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/device.hpp"

namespace tenax::kernels::test {

/// "cpu", and "cuda" where this build has the back end and the machine a device.
std::vector<std::string> back_ends();
std::unique_ptr<Device> create_device(const std::string& back_end);

}  // namespace tenax::kernels::test
