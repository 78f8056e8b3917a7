#include "tests/kernels/back_ends.hpp"

#include <iostream>

#include "kernels/cuda_device.hpp"
#include "kernels/error.hpp"

namespace tenax::kernels::test {

std::unique_ptr<Device> create_device(const std::string& back_end) {
  return back_end == "cuda" ? create_cuda_device({}) : create_cpu_device();
}

std::vector<std::string> back_ends() {
  std::vector<std::string> names{"cpu"};
  try {
    create_device("cuda");
    names.push_back("cuda");
  } catch (const Error& error) {
    std::cout << "tests skip cuda: " << error.what() << '\n';
  }
  return names;
}

}  // namespace tenax::kernels::test
