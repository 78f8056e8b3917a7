// The inside of Inbox, shared with the transfers it gave.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "comm/buffers/shared_buffer_pool.hpp"
#include "comm/failure.hpp"
#include "comm/host_staging.hpp"
#include "comm/inbox/copy_in.hpp"
#include "comm/inbox/inbox.hpp"
#include "comm/worker.hpp"

namespace tenax::comm {

struct Inbox::State {
  State(kernels::Device& its_device, Signal& its_signal, std::string its_me, std::string its_peer,
        bool emulate_copies, SharedBufferPool* its_shared_buffers)
      : signal(its_signal),
        me(std::move(its_me)),
        peer(std::move(its_peer)),
        device(its_device),
        shared_buffers(its_shared_buffers),
        copy_in(its_device.is_asynchronous() ? std::make_unique<CopyIn>(its_device) : nullptr),
        copies(!copy_in && (its_device.has_data() ? !its_device.is_host_memory() : emulate_copies)),
        staging(std::make_unique<HostStaging>(its_device)),
        copier(std::make_unique<Worker>()) {}

  /// waiting: for its message; filling: a thread writes into its memory; received (asynchronous devices): the message is in
  /// its host buffer, and the posting thread does the rest; copying (others): the copy into its tensor is enqueued.
  enum class Phase { waiting, filling, received, copying, done, failed };

  struct Receive {
    kernels::Tensor tensor;
    Tag tag = 0;
    std::uint64_t number = 0;
    double posted_s = 0;
    Phase phase = Phase::waiting;
    const kernels::Event* copied = nullptr;  ///< while copying
    TransferTiming timing;
    Failure failure;
    // Asynchronous devices:
    HostBuffer host_buffer;   ///< where the message lands
    CopyIn::Tickets tickets;  ///< if the copy was enqueued before the message came
    std::uint32_t pieces_here = 0;
    std::unique_ptr<kernels::Event> writable;  ///< passed when the tensor may be written
  };
  using ReceivePtr = std::shared_ptr<Receive>;

  /// A message that is here; `host_buffer`, or the header's buffer, holds what must be copied to the receive's tensor, if anything.
  struct Message {
    MessageHeader header;
    HostBuffer host_buffer;
    double arrived_s = 0;
  };

  struct Tally {  // of one tag
    std::uint64_t posted = 0;
    std::uint64_t delivered_below = 0;  ///< all these numbers have been delivered, and
    std::set<std::uint64_t> delivered;  ///< these beyond them
  };
  using Key = std::pair<Tag, std::uint64_t>;

  ReceivePtr post(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag);
  /// Throws Error(link) where no peer of ours says this.
  void check(const MessageHeader& header);
  void deliver(const MessageHeader& header, const Read& read);
  void deliver_shared(const MessageHeader& header, const Await& await);
  void fail(const Failure& error);
  void cancel(Receive& receive);
  // For AsynchronousReceive (asynchronous_receive.cpp):
  void draw_tickets(Receive& receive);
  void cancel_asynchronous(Receive& receive);
  CopyIn& copy_in_or_throw();
  void give_back(Receive& receive, bool has_arrived);
  void close();
  std::string describe(const Receive& receive) const;

  Signal& signal;
  const std::string me, peer;
  kernels::Device& device;
  SharedBufferPool* const shared_buffers;
  std::atomic<std::uint64_t> copied_bytes = 0;
  std::unique_ptr<CopyIn> copy_in;  ///< on an asynchronous device
  std::mutex mutex;                 ///< guards all below but the staging, and every Receive

 private:
  ReceivePtr prepare(kernels::Stream* stream, const kernels::Tensor& tensor, Tag tag);
  std::uint64_t draw_number(Tag tag, std::size_t bytes);
  HostBuffer take_host_buffer(const Receive& receive);
  void receive_here(Receive& receive, Message message);
  void receive_piece(Receive& receive);
  void copy_from_shared(std::uint64_t code, std::span<std::byte> memory);
  void follow_shared(Receive& receive, const MessageHeader& header, const Await& await);
  bool begin(std::unique_lock<std::mutex>& lock, const Key& key);
  void arrive(std::unique_lock<std::mutex>& lock, bool is_new, const ReceivePtr& direct, Message message);
  std::span<std::byte> memory_of(const Receive& receive) const;
  void check_own_buffer(const MessageHeader& header);
  bool is_of_another_size(const Key& key, const MessageHeader& header) const;
  ReceivePtr claim(const Key& key, const MessageHeader& header);
  void release(const Key& key, const ReceivePtr& receive);
  Message fetch(const MessageHeader& header, const Read& read, double* arrived_s);
  HostBuffer read_into_host_buffer(std::size_t bytes, const Read& read);
  void mark_delivered(const Key& key);
  bool was_delivered(const Key& key);
  void hand_over(std::unique_lock<std::mutex>& lock, Receive& receive, Message message);
  void copy(Receive& receive, Message message);
  void end(Receive& receive, const Message& message, double arrived_s);

  const bool copies;  ///< messages reach their tensors by a copy to the device
  std::unique_ptr<HostStaging> staging;
  std::unique_ptr<Worker> copier;  ///< of messages whose receive was posted later
  std::condition_variable changed;
  std::map<Tag, Tally> tallies;
  std::size_t largest_posted = 0;  ///< bytes
  std::map<Key, ReceivePtr> posted;
  std::map<Key, Message> early;
  std::set<Key> arriving;
  std::optional<Failure> failure;
};

}  // namespace tenax::comm
