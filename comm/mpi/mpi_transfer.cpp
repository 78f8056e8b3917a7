#include "comm/mpi/mpi_transfer.hpp"

#include "comm/failure.hpp"
#include "comm/mpi/check.hpp"

namespace tenax::comm {

using kernels::Error;
using kernels::Scope;

/// Only an error gets here with requests pending. A receive must not write into memory that is about to be freed: it is
/// cancelled, or written to its end if MPI has matched it with its message, as long as the peer goes on; a send that MPI
/// cannot take back is left to it.
MpiTransfer::~MpiTransfer() {
  constexpr double kParting_s = 2;  // for all receives of a link
  if (parts_done_ == parts_.size()) return;
  if (direction_ == Direction::receive) {
    cancel();
    if (!ends_.parting) ends_.parting = kernels::Deadline::after_s(kParting_s);
    poll_until([this] { return all_ended(); }, *ends_.parting);
  }
  for (std::size_t i = parts_done_; i < parts_.size(); ++i)
    if (parts_[i].request != MPI_REQUEST_NULL) MPI_Request_free(&parts_[i].request);
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
      throw Error(Scope::link, describe() + ": " + ends_.peer +
                                   " sent more bytes than that; both ends must name the same count");
    TENAX_MPI(link, describe(), code);
    if (complete == 0) return false;
    if (direction_ == Direction::receive) check_length(status, part.expected_bytes);
  }
  return true;
}

void MpiTransfer::wait(kernels::Deadline deadline) {
  if (!poll_until([this] { return done(); }, deadline))
    throw Error(Scope::link, timeout_sentence(describe(), ends_.me, stopwatch_.elapsed_s(), ends_.peer));
}

// A receive that MPI has matched with its message already cannot be cancelled: it is written to its end, for which both
// ends must go on calling MPI.
void MpiTransfer::cancel(kernels::Deadline deadline) {
  if (direction_ == Direction::send) return;
  cancel();
  if (!poll_until([this] { return all_ended(); }, deadline))
    throw Error(Scope::link, describe() + " was given up, but " + ends_.peer +
                                 " did not go on with it, and MPI may still write its memory on " + ends_.me);
}

void MpiTransfer::cancel() {
  for (std::size_t i = parts_done_; i < parts_.size(); ++i)
    if (parts_[i].request != MPI_REQUEST_NULL) MPI_Cancel(&parts_[i].request);
}

bool MpiTransfer::all_ended() {
  for (; parts_done_ < parts_.size(); ++parts_done_) {
    int complete = 0;
    MPI_Test(&parts_[parts_done_].request, &complete, MPI_STATUS_IGNORE);
    if (complete == 0) return false;
  }
  return true;
}

void MpiTransfer::check_length(const MPI_Status& status, int expected_bytes) const {
  int received = 0;
  TENAX_MPI(link, describe(), MPI_Get_count(&status, MPI_BYTE, &received));
  if (received != expected_bytes)
    throw Error(Scope::link,
                unequal_counts(describe(), ends_.peer, static_cast<std::size_t>(received), ends_.me));
}

std::string MpiTransfer::describe() const {
  return describe_message(direction_ == Direction::send ? "send" : "receive", bytes_, tag_);
}

}  // namespace tenax::comm
