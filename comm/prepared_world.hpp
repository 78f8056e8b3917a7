// PreparedWorld: another world, some of whose groups are made and used before somebody asks for them: so that what a library
// takes of a device's memory for them is taken before the rest is planned.
#pragma once

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "comm/world.hpp"

namespace tenax::comm {

class PreparedWorld final : public ForwardingWorld {
 public:
  using ForwardingWorld::ForwardingWorld;

  /// Collective, as the calls that they precede: the first call of split_communicator() or split_direct_endpoint() with the
  /// same arguments (but for the deadlines) gets what is made here. Every collective is called once on `bytes` for each rank
  /// of the group, in `dtype` and in its accumulation type. They wait for it.
  void prepare_communicator(const std::string& name, int color, int key, kernels::Device& device,
                            kernels::DType dtype, std::size_t bytes);
  void prepare_direct_endpoint(int color, int key, const std::vector<int>& neighbours,
                               kernels::Device& device, LinkDeadlines deadlines);

  std::unique_ptr<Communicator> split_communicator(const std::string& name, int color, int key,
                                                   kernels::Device& device) override;
  std::unique_ptr<Endpoint> split_direct_endpoint(int color, int key, const std::vector<int>& neighbours,
                                                  kernels::Device& device, LinkDeadlines deadlines) override;

 private:
  struct Group {
    std::string name;
    int color, key;
    std::unique_ptr<Communicator> made;
  };
  struct Links {
    int color, key;
    std::vector<int> neighbours;
    std::unique_ptr<Endpoint> made;
  };
  std::list<Group> groups_;
  std::list<Links> links_;
};

}  // namespace tenax::comm
