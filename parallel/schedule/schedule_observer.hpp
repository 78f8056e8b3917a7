// ScheduleObserver: watches the passes and messages of a step. Traces and measurement implement it;
// the executor knows nothing of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "parallel/schedule/pipeline_schedule.hpp"

namespace tenax::parallel {

/// Times are seconds of the host's steady clock.
struct PassRecord {
  PipelineOp op;
  double begin_s = 0, end_s = 0;  ///< on the device's stream
};

enum class TransferKind { receive_activation, send_activation, receive_gradient, send_gradient };
/// "receive activation 3": what a trace and a profiler call it, as they call an op to_string(op).
inline std::string name_of(TransferKind kind, int microbatch) {
  constexpr const char* kNames[] = {"receive activation ", "send activation ", "receive gradient ",
                                    "send gradient "};
  return kNames[static_cast<int>(kind)] + std::to_string(microbatch);
}
constexpr bool is_send(TransferKind kind) {
  return kind == TransferKind::send_activation || kind == TransferKind::send_gradient;
}
/// Whether it goes over the link to the stage before.
constexpr bool is_upstream(TransferKind kind) {
  return kind == TransferKind::receive_activation || kind == TransferKind::send_gradient;
}

struct TransferRecord {
  TransferKind kind = TransferKind::send_activation;
  int microbatch = 0;
  std::size_t bytes = 0;
  double begin_s = 0;  ///< a receive was posted, a send's tensor was ready
  double end_s = 0;    ///< complete; where the link cannot tell, when it was found so
  /// Receives: when transmission began, in the sender's steady clock, where the link can tell.
  std::optional<double> started_s = std::nullopt;
  /// Receives: false where a busy rank may have noticed late, so that end_s is an upper bound.
  bool prompt = true;
  /// Prompt receives: when the message was last looked for in vain. Absent where the link noted the
  /// arrival itself.
  std::optional<double> absent_s = std::nullopt;
};

/// Called by the executing thread after the last op of a step, in the order the ops ran in.
class ScheduleObserver {
 public:
  virtual ~ScheduleObserver() = default;
  virtual void on_pass(const PassRecord& record) = 0;
  virtual void on_transfer(const TransferRecord& record) = 0;
};

}  // namespace tenax::parallel
