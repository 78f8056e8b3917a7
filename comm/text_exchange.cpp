// Format of a text on a link: a first message of 256 bytes (length in 8, then up to 248 bytes of text), and a
// second one with the rest of a longer text, padded to 4 bytes. Both use tag 0: links keep their order.
#include "comm/text_exchange.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>

#include "comm/link.hpp"
#include "comm/poll.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

constexpr Tag kTag = 0;
constexpr std::size_t kFirstText = 248;

struct FirstMessage {
  std::uint64_t length = 0;
  std::array<char, kFirstText> text{};

  kernels::Tensor tensor() {
    return {this, kernels::DType::i32, {static_cast<std::int64_t>(sizeof(FirstMessage) / 4)}};
  }
};

std::vector<std::int32_t> rest_buffer(std::uint64_t length) {
  return std::vector<std::int32_t>(length <= kFirstText ? 0 : (length - kFirstText + 3) / 4);
}

/// A text ready to be sent to any number of peers.
class OutgoingText {
 public:
  explicit OutgoingText(const std::string& text) : rest_(rest_buffer(text.size())) {
    first_.length = text.size();
    std::copy_n(text.begin(), std::min(text.size(), kFirstText), first_.text.begin());
    if (!rest_.empty()) std::memcpy(rest_.data(), text.data() + kFirstText, text.size() - kFirstText);
  }
  void send(Link& link, std::vector<TransferPtr>& transfers) {
    transfers.push_back(link.send(stream_, first_.tensor(), kTag));
    if (!rest_.empty()) transfers.push_back(link.send(stream_, as_tensor(rest_), kTag));
  }

 private:
  HostStream stream_;
  FirstMessage first_;
  std::vector<std::int32_t> rest_;
};

class IncomingText {
 public:
  explicit IncomingText(Link& link) : link_(link), first_transfer_(receive(first_.tensor())) {}

  std::string wait(const Patience& patience, double begun_s) {
    patience.wait(*first_transfer_, begun_s);
    std::string text(first_.text.data(), std::min<std::size_t>(first_.length, kFirstText));
    std::vector<std::int32_t> rest = rest_buffer(first_.length);
    if (rest.empty()) return text;
    patience.wait(*receive(as_tensor(rest)), begun_s);
    return text.append(reinterpret_cast<const char*>(rest.data()), first_.length - kFirstText);
  }

 private:
  TransferPtr receive(const kernels::Tensor& tensor) { return link_.receive(stream_, tensor, kTag); }

  Link& link_;
  HostStream stream_;
  FirstMessage first_;
  TransferPtr first_transfer_;
};

/// Adds the operation's name to what went wrong on a link.
template <class Work>
auto named(const std::string& operation, Work work) {
  try {
    return work();
  } catch (const kernels::Error& error) {
    throw kernels::Error(error.scope(), operation + ": " + error.what());
  }
}

void wait_all(const std::vector<TransferPtr>& transfers, const Patience& patience, double begun_s) {
  for (const TransferPtr& transfer : transfers) patience.wait(*transfer, begun_s);
}

}  // namespace

void Patience::wait(Transfer& transfer, double begun_s) const {
  const auto is_settled = [&] { return transfer.done() || is_over(begun_s); };
  poll_until(is_settled, kernels::Deadline::after_s(begun_s + deadline_s_ - kernels::steady_now_s()));
  if (!transfer.done()) transfer.wait(kernels::Deadline::after_s(0));
}

bool Patience::is_over(double begun_s) const {
  return kernels::steady_now_s() > std::max(begun_s, hurried_at_s_.load()) + hurry_s_;
}

std::vector<std::string> exchange_texts(Endpoint& endpoint, const std::string& text,
                                        const std::string& operation, const Patience& patience) {
  return named(operation, [&] {
    const double begun_s = kernels::steady_now_s();
    const int size = endpoint.size(), me = endpoint.rank();
    OutgoingText outgoing(text);
    std::vector<std::unique_ptr<IncomingText>> incoming(static_cast<std::size_t>(size));
    std::vector<TransferPtr> sends;
    for (int step = 1; step < size; ++step) {
      const int source = (me - step + size) % size;
      incoming[static_cast<std::size_t>(source)] = std::make_unique<IncomingText>(endpoint.link(source));
    }
    for (int step = 1; step < size; ++step) outgoing.send(endpoint.link((me + step) % size), sends);
    std::vector<std::string> texts;
    for (int source = 0; source < size; ++source)
      texts.push_back(source == me ? text
                                   : incoming[static_cast<std::size_t>(source)]->wait(patience, begun_s));
    wait_all(sends, patience, begun_s);
    return texts;
  });
}

std::string broadcast_text(Endpoint& endpoint, const std::string& text, int root,
                           const std::string& operation, const Patience& patience) {
  assert(root >= 0 && root < endpoint.size());
  return named(operation, [&] {
    const double begun_s = kernels::steady_now_s();
    if (endpoint.rank() != root) return IncomingText(endpoint.link(root)).wait(patience, begun_s);
    OutgoingText outgoing(text);
    std::vector<TransferPtr> sends;
    for (int peer = 0; peer < endpoint.size(); ++peer)
      if (peer != root) outgoing.send(endpoint.link(peer), sends);
    wait_all(sends, patience, begun_s);
    return text;
  });
}

}  // namespace tenax::comm
