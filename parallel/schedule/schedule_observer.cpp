#include "parallel/schedule/schedule_observer.hpp"

namespace tenax::parallel {
namespace {

const char* name_of(TransferKind kind) {
  switch (kind) {
    case TransferKind::receive_activation:
      return "receive activation ";
    case TransferKind::send_activation:
      return "send activation ";
    case TransferKind::receive_gradient:
      return "receive gradient ";
    case TransferKind::send_gradient:
      break;
  }
  return "send gradient ";
}

}  // namespace

std::string name_of(TransferKind kind, int microbatch) { return name_of(kind) + std::to_string(microbatch); }

}  // namespace tenax::parallel
