// DoneTransfer: the transfer of an operation that had nothing to move (a group of one, an empty tensor).
#pragma once

#include "comm/transfer.hpp"

namespace tenax::comm {

class DoneTransfer final : public Transfer {
 public:
  bool done() override { return true; }
  void wait(kernels::Deadline) override {}
  void order_before(kernels::Stream&, kernels::Deadline) override {}
};

}  // namespace tenax::comm
