#include "comm/staged/staged.hpp"

#include <cassert>
#include <vector>

#include "comm/staged/staged_link.hpp"

namespace tenax::comm {
namespace {

class StagedEndpoint final : public Endpoint {
 public:
  StagedEndpoint(std::unique_ptr<Endpoint> inner, kernels::Device& device, CommOptions options)
      : context_(std::move(inner), device, options) {
    for (int peer = 0; peer < size(); ++peer) links_.push_back(std::make_unique<StagedLink>(context_, peer));
  }
  int rank() const override { return context_.inner->rank(); }
  int size() const override { return context_.inner->size(); }
  Link& link(int peer) override {
    assert(peer != rank() && peer >= 0 && peer < size());
    return *links_[static_cast<std::size_t>(peer)];
  }
  std::string describe(int peer) const override { return context_.inner->describe(peer); }

 private:
  StagedContext context_;
  std::vector<std::unique_ptr<StagedLink>> links_;
};

}  // namespace

std::unique_ptr<Endpoint> create_staged_endpoint(std::unique_ptr<Endpoint> inner, kernels::Device& device,
                                                 CommOptions options) {
  return std::make_unique<StagedEndpoint>(std::move(inner), device, options);
}

}  // namespace tenax::comm
