// NcclWorld: another world, whose collectives on a GPU's tensors are NCCL's.
#pragma once

#include "comm/nccl.hpp"
#include "comm/world.hpp"

namespace tenax::comm {

class NcclWorld final : public World {
 public:
  /// `inner` must outlive this, and every rank must be able to use NCCL (nccl_obstacle).
  explicit NcclWorld(World& inner, CommOptions options) : inner_(inner), options_(options) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  const std::string& host() const override { return inner_.host(); }
  int ranks_on_host() const override { return inner_.ranks_on_host(); }
  int rank_on_host() const override { return inner_.rank_on_host(); }
  void set_options(CommOptions options) override {
    options_ = options;
    inner_.set_options(options);
  }
  std::unique_ptr<Endpoint> split_endpoint(int color, int key) override {
    return inner_.split_endpoint(color, key);
  }
  std::unique_ptr<Endpoint> control_endpoint(int color, int key) override {
    return inner_.control_endpoint(color, key);
  }
  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override {
    auto endpoint = inner_.split_endpoint(color, key);
    if (endpoint->size() == 1) return create_link_communicator(name, std::move(endpoint), device, options_);
    return create_nccl_communicator(name, std::move(endpoint), device,
                                    {options_.deadline_s, options_.deadline_s});
  }
  std::unique_ptr<ControlGroup> control_group() override { return inner_.control_group(); }
  void abort(int status) override { inner_.abort(status); }

 private:
  World& inner_;
  CommOptions options_;
};

}  // namespace tenax::comm
