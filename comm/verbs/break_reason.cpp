#include "comm/verbs/break_reason.hpp"

#include <infiniband/verbs.h>

#include <cerrno>
#include <system_error>

namespace tenax::comm::verbs {
namespace {

/// Statuses that are not named come from a device that breaks down.
BreakReason reason_of(int status) {
  switch (status) {
    case IBV_WC_RETRY_EXC_ERR:
    case IBV_WC_RESP_TIMEOUT_ERR:
    case IBV_WC_REM_ABORT_ERR:
      return BreakReason::no_answer;
    case IBV_WC_LOC_QP_OP_ERR:
      return BreakReason::port_down;
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_LOC_ACCESS_ERR:
    case IBV_WC_BAD_RESP_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_OP_ERR:
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return BreakReason::own_fault;
    default:
      return BreakReason::device_lost;
  }
}

}  // namespace

const char* name_of(BreakReason reason) {
  switch (reason) {
    case BreakReason::port_down:
      return "port_down";
    case BreakReason::peer_port_down:
      return "peer_port_down";
    case BreakReason::device_lost:
      return "device_lost";
    case BreakReason::no_answer:
      return "no_answer";
    case BreakReason::peer_gone:
      return "peer_gone";
    case BreakReason::own_fault:
      break;
  }
  return "own_fault";
}

const char* sentence_of(BreakReason reason) {
  switch (reason) {
    case BreakReason::port_down:
      return "the port carries nothing";
    case BreakReason::peer_port_down:
      return "the port at the other end is down";
    case BreakReason::device_lost:
      return "the device has failed";
    case BreakReason::no_answer:
      return "nothing sent this way is acknowledged";
    case BreakReason::peer_gone:
      return "the process at the other end has left";
    case BreakReason::own_fault:
      break;
  }
  return "the connection is broken";
}

std::string CompletionFault::sentence() const {
  return std::string(sentence_of(reason.value_or(BreakReason::own_fault))) + " (" + text + ")";
}

CompletionFault fault_of_status(int status) {
  std::string text = ibv_wc_status_str(static_cast<ibv_wc_status>(status));
  if (status == IBV_WC_WR_FLUSH_ERR) return {std::nullopt, std::move(text)};
  return {reason_of(status), std::move(text)};
}

CompletionFault fault_of_call(const std::string& call, int error_number) {
  const bool is_lost = error_number == ENODEV || error_number == EIO;
  return {is_lost ? BreakReason::device_lost : BreakReason::own_fault,
          call + " failed (" + std::generic_category().message(error_number) + ")"};
}

}  // namespace tenax::comm::verbs
