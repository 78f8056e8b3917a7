// Choice: a deck's value that is one of a few words, as an enum. A new word is an enumerator here and its word in choice.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenax::io {

enum class Schedule { gpipe, one_f_one_b, zero_bubble, adaptive };
enum class P2p { direct, delegated, automatic };
enum class TransportKind { automatic, tcp, shared_memory, verbs };
enum class DeviceKind { automatic, cpu, cuda, emulated };
enum class DirectModel { send_queue, shared_channel };
enum class Recompute { none, gelu_layernorm };
enum class ComputeDtype { fp32, bf16 };
enum class OptimizerKind { adamw, lion };
enum class LrSchedule { constant, cosine, linear };
enum class FaultKind { unset, link_delay, link_down };

/// The words that decks use, in the order of the enumerators. An enumerator that no deck may say has an empty word.
const std::vector<std::string>& words_of(Schedule);
const std::vector<std::string>& words_of(P2p);
const std::vector<std::string>& words_of(TransportKind);
const std::vector<std::string>& words_of(DeviceKind);
const std::vector<std::string>& words_of(DirectModel);
const std::vector<std::string>& words_of(Recompute);
const std::vector<std::string>& words_of(ComputeDtype);
const std::vector<std::string>& words_of(OptimizerKind);
const std::vector<std::string>& words_of(LrSchedule);
const std::vector<std::string>& words_of(FaultKind);

/// Whether a schedule runs B and W as passes of their own, between which nothing is computed again.
bool splits_backward(Schedule schedule);

/// What a Choice is for readers and writers of decks, which know no enum.
class AnyChoice {
 public:
  /// Without the empty one.
  std::vector<std::string> words() const;
  const std::string& word() const { return (*words_)[static_cast<std::size_t>(index_)]; }
  bool empty() const { return word().empty(); }
  /// Returns false, and changes nothing, if `word` is none of words().
  bool set(std::string_view word);

 protected:
  AnyChoice(const std::vector<std::string>& words, int index) : words_(&words), index_(index) {}
  int index() const { return index_; }

 private:
  const std::vector<std::string>* words_;
  int index_;
};

template <class E>
class Choice : public AnyChoice {
 public:
  Choice(E value) : AnyChoice(words_of(E{}), static_cast<int>(value)) {}
  operator E() const { return static_cast<E>(index()); }
};

}  // namespace tenax::io
