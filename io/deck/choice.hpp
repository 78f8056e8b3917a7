// Choice: a deck's value that is one of a few words, as an enum. A new word is an enumerator and its word, here.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

using Words = std::vector<std::string>;

// Each enum is followed by the words that decks use, in the order of the enumerators. An enumerator that no deck may say has
// an empty word.

enum class Schedule { gpipe, one_f_one_b, zero_bubble, adaptive };
inline const Words& words_of(Schedule) {
  static const Words words = {"gpipe", "1f1b", "zero_bubble", "adaptive"};
  return words;
}
/// Whether a schedule runs B and W as passes of their own, between which nothing is computed again.
constexpr bool splits_backward(Schedule schedule) {
  return schedule == Schedule::zero_bubble || schedule == Schedule::adaptive;
}

enum class P2p { direct, delegated, automatic };
inline const Words& words_of(P2p) {
  static const Words words = {"direct", "delegated", "auto"};
  return words;
}

enum class TransportKind { automatic, tcp, shared_memory, verbs };
inline const Words& words_of(TransportKind) {
  static const Words words = {"auto", "tcp", "shm", "verbs"};
  return words;
}

/// Whether network adapters read and write a GPU's memory themselves.
enum class GpuDirect { automatic, off };
inline const Words& words_of(GpuDirect) {
  static const Words words = {"auto", "off"};
  return words;
}

enum class DeviceKind { automatic, cpu, cuda, emulated };
inline const Words& words_of(DeviceKind) {
  static const Words words = {"auto", "cpu", "cuda", "emulated"};
  return words;
}

enum class DirectModel { send_queue, shared_channel };
inline const Words& words_of(DirectModel) {
  static const Words words = {"send_queue", "shared_channel"};
  return words;
}

enum class Recompute { none, gelu_layernorm };
inline const Words& words_of(Recompute) {
  static const Words words = {"none", "gelu_layernorm"};
  return words;
}

enum class ComputeDtype { fp32, bf16 };
inline const Words& words_of(ComputeDtype) {
  static const Words words = {"fp32", "bf16"};
  return words;
}

enum class OptimizerKind { adamw, lion };
inline const Words& words_of(OptimizerKind) {
  static const Words words = {"adamw", "lion"};
  return words;
}

enum class LrSchedule { constant, cosine, linear };
inline const Words& words_of(LrSchedule) {
  static const Words words = {"constant", "cosine", "linear"};
  return words;
}

/// When suspects are tested while training is held.
enum class Validate { automatic, always, never };
inline const Words& words_of(Validate) {
  static const Words words = {"auto", "always", "never"};
  return words;
}

/// What may be done against what is slow while training goes on.
enum class Mitigation { microbatches, ring, swap };
inline const Words& words_of(Mitigation) {
  static const Words words = {"microbatches", "ring", "swap"};
  return words;
}

/// Whether a run may end to be started again without its slow hosts.
enum class RestartElsewhere { never, exit };
inline const Words& words_of(RestartElsewhere) {
  static const Words words = {"never", "exit"};
  return words;
}

enum class ReplicaBatch { keep, shrink };
inline const Words& words_of(ReplicaBatch) {
  static const Words words = {"keep", "shrink"};
  return words;
}

enum class LrIntervention { none, linear, square_root };
inline const Words& words_of(LrIntervention) {
  static const Words words = {"none", "linear", "sqrt"};
  return words;
}

enum class Launcher { automatic, mpirun, srun };
inline const Words& words_of(Launcher) {
  static const Words words = {"auto", "mpirun", "srun"};
  return words;
}

enum class FaultKind { unset, link_delay, link_down, slow_compute, process, partition, hang, bit_flip };
inline const Words& words_of(FaultKind) {
  static const Words words = {"",        "link_delay", "link_down", "slow_compute",
                              "process", "partition",  "hang",      "bit_flip"};
  return words;
}

/// What a fault does to a process.
enum class FaultSignal { kill, stop };
inline const Words& words_of(FaultSignal) {
  static const Words words = {"KILL", "STOP"};
  return words;
}

/// Where in a step, or in a replica's life, a fault of a process comes.
enum class FaultPoint { passes, exchange, vote, update, commit, state_send, state_receive, join, checkpoint };
inline const Words& words_of(FaultPoint) {
  static const Words words = {"passes",     "exchange",      "vote", "update",    "commit",
                              "state_send", "state_receive", "join", "checkpoint"};
  return words;
}

enum class HangPlace { pass, skip_collective, connection };
inline const Words& words_of(HangPlace) {
  static const Words words = {"pass", "skip_collective", "connection"};
  return words;
}

enum class FlippedPart { weight, exp_avg, exp_avg_sq, own_sum, sum };
inline const Words& words_of(FlippedPart) {
  static const Words words = {"weight", "exp_avg", "exp_avg_sq", "own_sum", "sum"};
  return words;
}

/// What a Choice is for readers and writers of decks, which know no enum.
class AnyChoice {
 public:
  /// Without the empty one.
  Words words() const {
    Words said = *words_;
    std::erase(said, "");
    return said;
  }
  const std::string& word() const { return (*words_)[static_cast<std::size_t>(index_)]; }
  bool empty() const { return word().empty(); }
  /// Returns false, and changes nothing, if `word` is none of words().
  bool set(std::string_view word) {
    const auto found = std::find(words_->begin(), words_->end(), word);
    if (word.empty() || found == words_->end()) return false;
    index_ = static_cast<int>(found - words_->begin());
    return true;
  }

 protected:
  AnyChoice(const Words& words, int index) : words_(&words), index_(index) {}
  int index() const { return index_; }

 private:
  const Words* words_;
  int index_;
};

template <class E>
class Choice : public AnyChoice {
 public:
  Choice(E value) : AnyChoice(words_of(E{}), static_cast<int>(value)) {}
  operator E() const { return static_cast<E>(index()); }
};

}  // namespace tenax::io
