#include "comm/mpi/mpi_endpoint.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "comm/mpi/check.hpp"
#include "comm/poll.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Deadline;
using kernels::Error;
using kernels::Scope;

constexpr const char* kWhere = "the start, when messages were tried out";
/// Beyond what a library takes in unasked.
constexpr std::size_t kLargeBytes = 1 << 20;
/// A rank that is slow once (a busy machine) is no verdict: what holds messages back does it every time. No longer than the
/// deadline of anything else.
constexpr std::array<double, 3> kPatience_s = {1, 5, 20};

bool done_by(std::vector<MPI_Request>& requests, Deadline deadline) {
  return poll_until(
      [&] {
        int done = 0;
        TENAX_MPI(
            job, kWhere,
            MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE));
        return done != 0;
      },
      deadline);
}

void finish(std::vector<MPI_Request>& requests, double deadline_s) {
  if (!done_by(requests, Deadline::after_s(deadline_s)))
    throw Error(Scope::job, std::string("MPI's messages did not arrive at ") + kWhere +
                                "; look for a dead or stopped process or a broken link");
}

/// In a ring, every rank sends the next one a large message, then a small one, and wants the small one first.
bool small_one_overtakes(MPI_Comm communicator, double patience_s, double deadline_s) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  std::vector<std::byte> large(kLargeBytes), large_in(kLargeBytes);
  std::byte small{}, small_in{};
  enum { kLarge, kSmall };
  constexpr int kCount = static_cast<int>(kLargeBytes);
  std::vector<MPI_Request> others(3, MPI_REQUEST_NULL), wanted(1, MPI_REQUEST_NULL);
  TENAX_MPI(job, kWhere, MPI_Irecv(&small_in, 1, MPI_BYTE, previous, kSmall, communicator, &wanted[0]));
  TENAX_MPI(job, kWhere, MPI_Isend(large.data(), kCount, MPI_BYTE, next, kLarge, communicator, &others[0]));
  TENAX_MPI(job, kWhere, MPI_Isend(&small, 1, MPI_BYTE, next, kSmall, communicator, &others[1]));
  const bool overtook = done_by(wanted, Deadline::after_s(patience_s));
  TENAX_MPI(job, kWhere,
            MPI_Irecv(large_in.data(), kCount, MPI_BYTE, previous, kLarge, communicator, &others[2]));
  finish(others, deadline_s);
  finish(wanted, deadline_s);
  return overtook;
}

bool on_all_ranks(MPI_Comm communicator, bool here, double deadline_s) {
  int mine = here ? 1 : 0, all = 0;
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  TENAX_MPI(job, kWhere, MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, communicator, &request[0]));
  finish(request, deadline_s);
  return all != 0;
}

}  // namespace

bool messages_overtake(MPI_Comm communicator, double deadline_s) {
  int size = 1;
  MPI_Comm_size(communicator, &size);
  if (size == 1) return true;
  for (const double patience_s : kPatience_s)
    if (on_all_ranks(communicator,
                     small_one_overtakes(communicator, std::min(patience_s, deadline_s), deadline_s),
                     deadline_s))
      return true;
  return false;
}

}  // namespace tenax::comm
