#include "kernels/cuda_device.hpp"

#include <gtest/gtest.h>

#include "kernels/error.hpp"

namespace tenax::kernels {
namespace {

bool is_compiled_in() { return !cuda_versions().empty(); }

TEST(CudaPresence, has_a_reason_exactly_where_there_is_no_device) {
  const CudaPresence presence = cuda_presence();
  EXPECT_EQ(presence.devices == 0, !presence.reason.empty()) << presence.reason;
  EXPECT_EQ(cuda_presence().devices, presence.devices) << "asking changes nothing";
}

TEST(CudaPresence, names_what_was_compiled_in) {
  if (!is_compiled_in()) GTEST_SKIP() << "this build has no CUDA back end";
  EXPECT_TRUE(cuda_versions().starts_with("CUDA 1")) << cuda_versions();
  EXPECT_NE(cuda_versions().find(", cuBLASLt "), std::string::npos) << cuda_versions();
  EXPECT_NE(cuda_versions().find(", cuDNN 9."), std::string::npos) << cuda_versions();
}

std::string error_of_creating(const CudaOptions& options) {
  try {
    create_cuda_device(options);
  } catch (const Error& error) {
    EXPECT_EQ(error.scope(), Scope::rank);
    EXPECT_EQ(error.exit_status(), 1) << "another machine or build could honour the deck";
    return error.what();
  }
  ADD_FAILURE() << "there is no such device";
  return {};
}

TEST(CudaDevice, of_a_build_without_cuda_names_the_option) {
  if (is_compiled_in()) GTEST_SKIP() << "this build has CUDA";
  EXPECT_NE(error_of_creating({}).find("-DTENAX_CUDA=ON"), std::string::npos);
}

TEST(CudaDevice, that_is_not_there_is_refused_with_the_reason) {
  const CudaPresence presence = cuda_presence();
  if (presence.devices > 0) GTEST_SKIP() << "this machine has a GPU";
  const std::string sentence = error_of_creating({});
  EXPECT_NE(sentence.find(presence.reason), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("device.kind"), std::string::npos) << sentence << " (what to do)";
}

TEST(CudaDevice, beyond_the_last_is_refused_with_their_number) {
  const CudaPresence presence = cuda_presence();
  if (presence.devices == 0) GTEST_SKIP() << presence.reason;
  CudaOptions options;
  options.index = presence.devices;
  EXPECT_NE(error_of_creating(options).find(std::to_string(presence.devices)), std::string::npos);
}

}  // namespace
}  // namespace tenax::kernels
