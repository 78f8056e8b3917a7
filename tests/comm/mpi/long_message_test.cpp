// A message longer than MPI's limit travels in parts. The limit is set low: two gigabytes would test no more.
#include <mpi.h>

#include "comm/link.hpp"
#include "comm/mpi/mpi_endpoint.hpp"
#include "tests/comm/contributions.hpp"
#include "tests/comm/mpi/mpi_main.hpp"

namespace tenax::comm {
namespace {

TEST(MpiEndpoint, messages_longer_than_the_limit_arrive_whole_and_in_order) {
  if (test_world().size() < 2) GTEST_SKIP() << "needs two ranks";
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, test_world().rank(), &communicator);
  std::vector<std::string> names;
  for (int rank = 0; rank < test_world().size(); ++rank) names.push_back(std::to_string(rank));
  const std::unique_ptr<Endpoint> endpoint = create_mpi_endpoint(communicator, names, 60, 10000);
  if (test_world().rank() > 1) return;
  HostStream stream;
  Link& link = endpoint->link(1 - test_world().rank());
  std::vector<TransferPtr> transfers;
  std::vector<std::vector<float>> values;
  for (const std::int64_t elements : {2500, 12345, 0, 5000})
    values.push_back(test_world().rank() == 0 ? contribution<float>(0, elements, 1)
                                              : std::vector<float>(static_cast<std::size_t>(elements)));
  for (std::vector<float>& value : values)
    transfers.push_back(test_world().rank() == 0 ? link.send(stream, tensor_of(value), 1)
                                                 : link.receive(stream, tensor_of(value), 1));
  for (const TransferPtr& transfer : transfers) transfer->wait(kernels::Deadline::after_s(60));
  for (const std::vector<float>& value : values)
    EXPECT_EQ(value, contribution<float>(0, static_cast<std::int64_t>(value.size()), 1));
}

}  // namespace
}  // namespace tenax::comm
