#include "comm/collectives/link_collective.hpp"

#include <set>

#include "comm/failure.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {

void LinkCollective::wait(kernels::Deadline deadline) {
  if (!poll_until([this] { return done(); }, deadline))
    throw kernels::Error(
        kernels::Scope::link,
        timeout_sentence(std::string(what_) + " of " + std::to_string(tensor_.bytes()) + " bytes in the " +
                             group_.name + " group",
                         group_.endpoint.describe(group_.rank()), stopwatch_.elapsed_s(), waiting_for()));
  stream_.synchronize(deadline);
}

kernels::Tensor LinkCollective::piece(int index) const {
  const std::int64_t begin = piece_begin(tensor_.size(), index, group_.size());
  return elements(begin, piece_begin(tensor_.size(), index + 1, group_.size()) - begin);
}

bool LinkCollective::all_done(std::vector<Message>& messages) {
  std::erase_if(messages, [](const Message& message) { return message.transfer->done(); });
  return messages.empty();
}

std::string LinkCollective::waiting_for() const {
  std::set<int> peers;
  for (const Message& message : awaited()) peers.insert(message.peer);
  if (peers.empty())
    for (const Message& message : sends_) peers.insert(message.peer);
  std::string text;
  for (const int peer : peers) text += (text.empty() ? "" : ", ") + group_.endpoint.describe(peer);
  return text.empty() ? "its own stream" : text;
}

}  // namespace tenax::comm
