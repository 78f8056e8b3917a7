// Choices: what operations of one device have chosen among algorithms that compute the same: for a run that goes on later to
// choose alike.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tenax::kernels::cuda {

/// Ends the name of a product that is planned for `count` multiprocessors; empty where it may count on all (0).
std::string text_of_multiprocessors(int count);

/// A text has a line "machine | what | how" for each choice, sorted. `machine` names the device and the libraries: choices of
/// another one mean nothing here. Thread rule: any thread.
///
/// Until settle() an operation may try algorithms out when it first meets a shape, before the run has taken the memory that
/// trials need. From then on nothing is decided by a clock, nor by what memory happens to be left.
class Choices {
 public:
  explicit Choices(bool deterministic, std::string machine = {})
      : deterministic_(deterministic), machine_(std::move(machine)) {}

  bool deterministic() const { return deterministic_; }
  void set_machine(std::string machine) { machine_ = std::move(machine); }
  /// Of the device: as many as products may use but for those that are lent.
  void set_multiprocessors(int count) { multiprocessors_ = count; }

  bool may_try() const;
  void settle();

  /// Kernels of others, which wait for messages, may hold `count` more multiprocessors (or fewer). What counts for products
  /// is what is lent at settle().
  void lend_multiprocessors(int count);
  int lent_multiprocessors() const;
  /// For how many multiprocessors products are to be planned; 0: for all.
  int multiprocessors_of_products() const;

  /// What was chosen for `what` in the text that was taken; absent if nothing.
  std::optional<std::string> earlier(const std::string& what) const;
  /// The earlier choice does not work here.
  void cannot_keep(const std::string& what);
  /// Where the text has a choice for `what` on other multiprocessors alone, that one cannot be kept.
  void choose(const std::string& what, const std::string& how);
  /// Of this device's choices and all that were taken.
  std::string text() const;
  void take(const std::string& text);

  /// A sentence for people, kept once.
  void say(const std::string& note);
  std::vector<std::string> notes() const;

 private:
  bool has_on_others(const std::string& what) const;

  const bool deterministic_;
  std::string machine_;
  int multiprocessors_ = 0;
  mutable std::mutex mutex_;
  bool is_settled_ = false;
  int lent_ = 0, lent_when_settled_ = 0;
  std::map<std::string, std::string> chosen_, earlier_;
  std::set<std::string> lines_;  // that were taken
  std::vector<std::string> notes_;
  std::set<std::string> lost_;
};

}  // namespace tenax::kernels::cuda
