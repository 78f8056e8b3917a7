#include "comm/nccl.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

[[noreturn]] void refuse() {
  throw kernels::Error(kernels::Scope::job,
                       "this build has no NCCL: configure with -DTENAX_CUDA=ON (it needs the CUDA toolkit, "
                       "cuDNN and NCCL)");
}

}  // namespace

std::string nccl_version() { return {}; }

std::string nccl_lack() { return "has a build without NCCL"; }

void pin_nccl_order() {}

std::unique_ptr<Communicator> create_nccl_communicator(std::string, std::unique_ptr<Endpoint>,
                                                       kernels::Device&, NcclOptions, bool) {
  refuse();
}

std::unique_ptr<Endpoint> create_nccl_endpoint(std::unique_ptr<Endpoint>, const std::vector<int>&,
                                               kernels::Device&, NcclOptions) {
  refuse();
}

}  // namespace tenax::comm
