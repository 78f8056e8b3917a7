#include "comm/threads/mailbox.hpp"

#include <cassert>
#include <cstring>

#include "comm/failure.hpp"
#include "comm/poll.hpp"
#include "comm/transfer.hpp"
#include "kernels/error.hpp"

namespace tenax::comm {
namespace {

using kernels::Error;
using kernels::Scope;

class ThreadReceive final : public Transfer {
 public:
  ThreadReceive(Mailbox& box, const kernels::Tensor& tensor, Tag tag, std::string me, std::string peer)
      : box_(box),
        tensor_(tensor),
        tag_(tag),
        number_(box.next_receive(tag)),
        me_(std::move(me)),
        peer_(std::move(peer)) {}

  bool done() override {
    if (!done_) accept(box_.take(tag_, number_));
    return done_;
  }
  void wait(kernels::Deadline deadline) override {
    if (!done_) accept(box_.take(tag_, number_, deadline));
    if (!done_) throw Error(Scope::link, timeout_sentence(describe(), me_, stopwatch_.elapsed_s(), peer_));
  }

 private:
  std::string describe() const { return describe_message("receive", tensor_.bytes(), tag_); }
  void accept(const std::optional<Mailbox::Message>& message) {
    if (!message) return;
    if (message->size() != tensor_.bytes())
      throw Error(Scope::link, unequal_counts(describe(), peer_, message->size(), me_));
    if (!message->empty()) std::memcpy(tensor_.data, message->data(), message->size());
    done_ = true;
  }

  Mailbox& box_;
  kernels::Tensor tensor_;
  Tag tag_;
  std::uint64_t number_;
  std::string me_, peer_;
  Stopwatch stopwatch_;
  bool done_ = false;
};

class ThreadLink final : public Link {
 public:
  ThreadLink(Mailbox& out, Mailbox& in, std::string me, std::string peer)
      : out_(out), in_(in), me_(std::move(me)), peer_(std::move(peer)) {}

  TransferPtr send(kernels::Stream&, const kernels::Tensor& tensor, Tag tag) override {
    assert(tag >= 0 && tag < kMaxTag);
    out_.put(tag, tensor.raw());
    return std::make_unique<DoneTransfer>();
  }
  TransferPtr receive(kernels::Stream&, const kernels::Tensor& tensor, Tag tag) override {
    assert(tag >= 0 && tag < kMaxTag);
    return std::make_unique<ThreadReceive>(in_, tensor, tag, me_, peer_);
  }
  std::string describe() const override { return me_ + " - " + peer_; }

 private:
  Mailbox& out_;
  Mailbox& in_;
  std::string me_, peer_;
};

class ThreadEndpoint final : public Endpoint {
 public:
  ThreadEndpoint(std::shared_ptr<MailboxGroup> group, int rank) : group_(std::move(group)), rank_(rank) {
    for (int peer = 0; peer < size(); ++peer)
      links_.emplace_back(group_->box(rank_, peer), group_->box(peer, rank_), describe(rank_),
                          describe(peer));
  }
  int rank() const override { return rank_; }
  int size() const override { return group_->size(); }
  Link& link(int peer) override {
    assert(peer != rank_ && peer >= 0 && peer < size());
    return links_[static_cast<std::size_t>(peer)];
  }
  std::string describe(int peer) const override {
    return describe_rank(group_->world_rank(peer), this_host());
  }

 private:
  std::shared_ptr<MailboxGroup> group_;
  int rank_;
  std::vector<ThreadLink> links_;
};

}  // namespace

std::unique_ptr<Endpoint> create_thread_endpoint(std::shared_ptr<MailboxGroup> group, int rank) {
  return std::make_unique<ThreadEndpoint>(std::move(group), rank);
}

}  // namespace tenax::comm
