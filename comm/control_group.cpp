#include "comm/control_group.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "comm/communicator.hpp"
#include "comm/text_exchange.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;

constexpr char kUnfitFile = 'f', kAny = 'e';

/// What `work` did, as it travels: empty when it succeeded, else a character each of kind and scope, and the sentence.
std::string outcome_of(const std::function<void()>& work) {
  const auto failed = [](Scope scope, const std::string& sentence, char kind = kAny) {
    return std::string{kind, static_cast<char>('0' + static_cast<int>(scope))} + sentence;
  };
  try {
    work();
    return {};
  } catch (const kernels::UnfitFileError& error) {
    return failed(error.scope(), error.what(), kUnfitFile);
  } catch (const Error& error) {
    return failed(error.scope(), error.what());
  } catch (const std::exception& error) {
    return failed(Scope::rank, error.what());
  } catch (...) {
    return failed(Scope::rank, "an exception of unknown type");
  }
}

[[noreturn]] void rethrow(const std::string& outcome) {
  assert(outcome.size() >= 2);
  const auto scope = static_cast<Scope>(outcome[1] - '0');
  if (outcome.front() == kUnfitFile) throw AgreedUnfitFileError(scope, outcome.substr(2));
  throw AgreedError(scope, outcome.substr(2));
}

class EndpointControlGroup final : public ControlGroup {
 public:
  EndpointControlGroup(std::unique_ptr<Endpoint> endpoint, CommOptions options)
      : endpoint_(std::move(endpoint)),
        in_rank_order_(static_cast<std::size_t>(endpoint_->size())),
        patience_(options.deadline_s) {
    std::iota(in_rank_order_.begin(), in_rank_order_.end(), 0);
  }

  int rank() const override { return endpoint_->rank(); }
  int size() const override { return endpoint_->size(); }
  std::string broadcast(const std::string& text, int root) override {
    return broadcast_text(*endpoint_, text, root, "broadcast", patience_);
  }
  std::vector<std::string> all_gather(const std::string& text) override {
    return exchange_texts(*endpoint_, text, "all_gather", patience_);
  }
  void all_reduce_sum(std::span<double> values) override { all_reduce_sum(values, in_rank_order_); }
  void all_reduce_sum(std::span<double> values, const std::vector<int>& order) override {
    all_reduce("all_reduce_sum", values, order, [](double a, double b) { return a + b; });
  }
  void hurry(double seconds) noexcept override { patience_.hurry(seconds); }
  void all_reduce_max(std::span<double> values) override {
    all_reduce("all_reduce_max", values, in_rank_order_,
               [](double a, double b) { return a < b || b != b ? b : a; });
  }

 private:
  template <class Combine>
  void all_reduce(const std::string& operation, std::span<double> values, const std::vector<int>& order,
                  Combine combine) {
    const std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    const std::vector<std::string> all = exchange_texts(*endpoint_, mine, operation, patience_);
    std::vector<double> contribution(values.size());
    assert(order.size() == all.size());
    for (const int source : order) {
      const std::string& theirs = all[static_cast<std::size_t>(source)];
      if (theirs.size() != values.size_bytes())
        throw Error(Scope::replica, operation + ": " + endpoint_->describe(source) +
                                        " brought another number of values than this rank");
      if (values.empty()) continue;
      std::memcpy(contribution.data(), theirs.data(), values.size_bytes());
      if (source == order.front())
        std::copy(contribution.begin(), contribution.end(), values.begin());
      else
        std::transform(values.begin(), values.end(), contribution.begin(), values.begin(), combine);
    }
  }

  std::unique_ptr<Endpoint> endpoint_;
  std::vector<int> in_rank_order_;
  Patience patience_;
};

}  // namespace

void ControlGroup::agree(const std::function<void()>& work) {
  const std::string mine = outcome_of(work);
  std::vector<std::string> outcomes;
  try {
    outcomes = all_gather(mine);
  } catch (const Error&) {
    if (!mine.empty()) rethrow(mine);  // this rank's own failure explains more than a peer's silence
    throw;
  }
  for (const std::string& outcome : outcomes)
    if (!outcome.empty()) rethrow(outcome);
}

std::unique_ptr<ControlGroup> create_control_group(std::unique_ptr<Endpoint> endpoint, CommOptions options) {
  return std::make_unique<EndpointControlGroup>(std::move(endpoint), options);
}

double turn_seconds(double deadline_s) {
  constexpr double kLongest_s = 1, kOfDeadline = 0.25;
  return std::min(kLongest_s, kOfDeadline * deadline_s);
}

std::vector<std::string> agreed_answers(ControlGroup& group, const std::function<std::string()>& work) {
  std::string answer;
  group.agree([&] { answer = work(); });
  return group.all_gather(answer);
}

void agree_in_rounds(ControlGroup& group, const std::function<bool()>& work,
                     const std::function<void()>& after_round) {
  bool more = true;
  const auto round = [&] {
    if (more) more = work();
    return std::string(more ? "more" : "");
  };
  for (bool any = true; any;) {
    const std::vector<std::string> answers = agreed_answers(group, round);
    any = std::any_of(answers.begin(), answers.end(),
                      [](const std::string& answer) { return !answer.empty(); });
    after_round();
  }
}

}  // namespace tenax::comm
