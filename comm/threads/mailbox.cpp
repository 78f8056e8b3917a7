#include "comm/threads/mailbox.hpp"

#include "comm/signal.hpp"

namespace tenax::comm {

void Mailbox::put(Tag tag, std::span<const std::byte> bytes) {
  change_and_notify(mutex_, arrived_, [&] {
    messages_[{tag, sent_[tag]++}].assign(bytes.begin(), bytes.end());
  });
}

std::uint64_t Mailbox::next_receive(Tag tag) {
  const std::lock_guard lock(mutex_);
  return posted_[tag]++;
}

std::optional<Mailbox::Message> Mailbox::take(Tag tag, std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  return take_locked(tag, number);
}

std::optional<Mailbox::Message> Mailbox::take(Tag tag, std::uint64_t number, kernels::Deadline deadline) {
  std::unique_lock lock(mutex_);
  std::optional<Message> message;
  arrived_.wait_until(lock, deadline.when(),
                      [&] { return (message = take_locked(tag, number)).has_value(); });
  return message;
}

std::optional<Mailbox::Message> Mailbox::take_locked(Tag tag, std::uint64_t number) {
  const auto found = messages_.find({tag, number});
  if (found == messages_.end()) return std::nullopt;
  Message message = std::move(found->second);
  messages_.erase(found);
  return message;
}

}  // namespace tenax::comm
