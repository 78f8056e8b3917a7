#include "comm/prepared_world.hpp"

#include <algorithm>
#include <utility>

#include "comm/transfer.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;

void use(Communicator& group, kernels::Device& device, kernels::DType dtype, std::size_t bytes,
         Deadline deadline) {
  const std::int64_t elements =
      static_cast<std::int64_t>(bytes / bytes_of(dtype)) * static_cast<std::int64_t>(group.size());
  const auto stream = device.create_stream();
  const auto memory = device.allocate(static_cast<std::size_t>(elements) * bytes_of(dtype));
  const kernels::Tensor tensor = memory->tensor(dtype, {elements});
  group.all_reduce(*stream, tensor, ReduceOp::sum);
  group.start_reduce_scatter(*stream, tensor)->wait(deadline);
  group.start_all_gather(*stream, tensor)->wait(deadline);
  stream->synchronize(deadline);
}

/// Takes the first that `is_asked` out of a list; null where there is none.
template <class Made, class Entry, class Predicate>
std::unique_ptr<Made> taken(std::list<Entry>& entries, const Predicate& is_asked) {
  const auto found = std::find_if(entries.begin(), entries.end(), is_asked);
  if (found == entries.end()) return nullptr;
  auto made = std::move(found->made);
  entries.erase(found);
  return made;
}

}  // namespace

void PreparedWorld::prepare_communicator(const std::string& name, int color, int key, kernels::Device& device,
                                         kernels::DType dtype, std::size_t bytes) {
  auto group = inner_.split_communicator(name, color, key, device);
  if (group->size() > 1)
    for (const kernels::DType type : {dtype, kernels::accumulation_of(dtype)})
      use(*group, device, type, bytes, Deadline::after_s(options_.deadline_s));
  groups_.push_back({name, color, key, std::move(group)});
}

void PreparedWorld::prepare_direct_endpoint(int color, int key, const std::vector<int>& neighbours,
                                            kernels::Device& device, LinkDeadlines deadlines) {
  links_.push_back(
      {color, key, neighbours, inner_.split_direct_endpoint(color, key, neighbours, device, deadlines)});
}

std::unique_ptr<Communicator> PreparedWorld::split_communicator(const std::string& name, int color, int key,
                                                                kernels::Device& device) {
  auto made = taken<Communicator>(groups_, [&](const Group& group) {
    return group.name == name && group.color == color && group.key == key;
  });
  return made ? std::move(made) : inner_.split_communicator(name, color, key, device);
}

std::unique_ptr<Endpoint> PreparedWorld::split_direct_endpoint(int color, int key,
                                                               const std::vector<int>& neighbours,
                                                               kernels::Device& device,
                                                               LinkDeadlines deadlines) {
  auto made = taken<Endpoint>(links_, [&](const Links& links) {
    return links.color == color && links.key == key && links.neighbours == neighbours;
  });
  return made ? std::move(made) : inner_.split_direct_endpoint(color, key, neighbours, device, deadlines);
}

}  // namespace tenax::comm
