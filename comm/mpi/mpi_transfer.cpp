#include "comm/mpi/mpi_transfer.hpp"

#include "comm/mpi/check.hpp"
#include "comm/wording.hpp"

namespace tenax::comm {

using kernels::Error;
using kernels::Scope;

/// Only an error gets here with requests pending. A receive must not write into memory that is about to be
/// freed, so it is cancelled; a send that MPI cannot take back is left to it.
MpiTransfer::~MpiTransfer() {
  for (; parts_done_ < parts_.size(); ++parts_done_) {
    MPI_Request& request = parts_[parts_done_].request;
    if (request == MPI_REQUEST_NULL) continue;
    int complete = 0;
    if (direction_ == Direction::receive) MPI_Cancel(&request);
    MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
    if (complete == 0) MPI_Request_free(&request);
  }
}

bool MpiTransfer::done() {
  for (; parts_done_ < parts_.size(); ++parts_done_) {
    Part& part = parts_[parts_done_];
    int complete = 0;
    MPI_Status status;
    const int code = MPI_Test(&part.request, &complete, &status);
    int error_class = MPI_SUCCESS;
    if (code != MPI_SUCCESS) MPI_Error_class(code, &error_class);
    if (error_class == MPI_ERR_TRUNCATE)
      throw Error(Scope::link, describe() + ": " + names_.peer +
                                   " sent more bytes than that; both ends must name the same count");
    TENAX_MPI(link, describe(), code);
    if (complete == 0) return false;
    if (direction_ == Direction::receive) check_length(status, part.expected_bytes);
  }
  return true;
}

void MpiTransfer::wait(kernels::Deadline deadline) {
  if (!poll_until([this] { return done(); }, deadline))
    throw Error(Scope::link, gave_up(describe(), names_.me, stopwatch_.elapsed_s(), names_.peer));
}

// A receive that MPI has matched with its message already cannot be cancelled: it is written to its end, for which both
// ends must go on calling MPI.
void MpiTransfer::give_up(kernels::Deadline deadline) {
  if (direction_ == Direction::send) return;
  for (std::size_t i = parts_done_; i < parts_.size(); ++i)
    if (parts_[i].request != MPI_REQUEST_NULL) MPI_Cancel(&parts_[i].request);
  const auto all_ended = [this] {
    for (; parts_done_ < parts_.size(); ++parts_done_) {
      int complete = 0;
      MPI_Test(&parts_[parts_done_].request, &complete, MPI_STATUS_IGNORE);
      if (complete == 0) return false;
    }
    return true;
  };
  if (!poll_until(all_ended, deadline))
    throw Error(Scope::link, describe() + " was given up, but " + names_.peer +
                                 " did not go on with it, and MPI may still write its memory on " +
                                 names_.me);
}

void MpiTransfer::check_length(const MPI_Status& status, int expected_bytes) const {
  int received = 0;
  TENAX_MPI(link, describe(), MPI_Get_count(&status, MPI_BYTE, &received));
  if (received == expected_bytes) return;
  throw Error(Scope::link, describe() + ": " + names_.peer + " sent " + std::to_string(received) +
                               " bytes to " + names_.me + "; both ends must name the same count");
}

std::string MpiTransfer::describe() const {
  return std::string(direction_ == Direction::send ? "send" : "receive") + " of " + std::to_string(bytes_) +
         " bytes (tag " + std::to_string(tag_) + ")";
}

}  // namespace tenax::comm
