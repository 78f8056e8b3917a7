// MpiTransfer: one message (of one or more MPI requests) under way.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "comm/poll.hpp"
#include "comm/transfer.hpp"

namespace tenax::comm {

enum class Direction { send, receive };

/// What the transfers of a link share; owned by the link, which outlives them.
struct LinkEnds {
  std::string me, peer;
  /// Until when destructors wait for MPI to end cancelled receives. Absent until the first such
  /// receive, then one deadline for all receives of the link.
  std::optional<kernels::Deadline> parting = {};
};

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(LinkEnds& ends, Direction direction, std::size_t bytes, int tag)
      : ends_(ends), direction_(direction), bytes_(bytes), tag_(tag) {}
  ~MpiTransfer() override;

  void add(MPI_Request request, int expected_bytes) { parts_.push_back({request, expected_bytes}); }

  bool done() override;
  void wait(kernels::Deadline deadline) override;
  void cancel(kernels::Deadline deadline) override;
  std::string describe() const;

 private:
  struct Part {
    MPI_Request request;
    int expected_bytes;
  };
  void cancel();
  bool all_ended();
  void check_length(const MPI_Status& status, int expected_bytes) const;

  LinkEnds& ends_;
  Direction direction_;
  std::size_t bytes_;
  int tag_;
  std::vector<Part> parts_;
  std::size_t parts_done_ = 0;
  Stopwatch stopwatch_;
};

}  // namespace tenax::comm
