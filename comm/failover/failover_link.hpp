// FailoverLink: a pipeline's link to one neighbour: direct while that is healthy, delegated while it is slow, and when the
// direct path breaks in mid-iteration, delegated from the message that is missing on (PipeMorph, NSDI 2026, section 5.3).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/delegates/delegated_link.hpp"
#include "comm/failover/failover_messages.hpp"
#include "comm/link.hpp"

namespace tenax::comm {

enum class Path { direct, delegated };

/// How many of an iteration's messages arrived at this end, by the way they came.
struct Arrivals {
  int direct = 0, delegated = 0;
};

struct FailoverOptions {
  Tag tags = 0;            ///< an iteration uses tags 0 … tags − 1, each at most once per direction
  double deadline_s = 60;  ///< for the peer to join a failover
};

/// An *iteration* is what lies between two calls of finish_iteration, which both ends make alike. Within it each message is
/// acknowledged over `control`, and its bytes are kept until then. When a direct transfer throws or misses its deadline at
/// one end, that end tells the other what it has received; both give the direct path up, what the other lacks is sent again
/// over delegates, and so is the rest. So nothing is lost, doubled or reordered.
///
/// Thread rule: Link's.
class FailoverLink final : public Link {
 public:
  /// Called by both ends at the same time, when delegates are first needed.
  using MakeDelegated = std::function<std::unique_ptr<DelegatedLink>()>;

  /// `control` carries small host messages to the same peer, reliably and on another way (tags 0 … options.tags are this
  /// link's). All references must outlive it.
  FailoverLink(Link& direct, Link& control, MakeDelegated make_delegated, kernels::Device& device,
               FailoverOptions options);
  ~FailoverLink() override;

  TransferPtr send(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  TransferPtr receive(kernels::Stream& stream, const kernels::Tensor& tensor, Tag tag) override;
  Signal* signal() override;
  std::string describe() const override { return direct_->describe(); }

  /// Between iterations, both ends alike. `delegates`: threads per direction (delegated alone).
  void set_path(Path path, int delegates);
  /// The way that the next iteration's first messages go.
  Path path() const { return path_; }
  /// Between iterations: the direct path was built anew.
  void set_direct(Link& direct);
  /// Returns when the peer has all messages of this iteration and this end its own. Throws Error(link) on expiry.
  void finish_iteration();
  /// Between iterations: nothing reads the memory of earlier sends any more once it returns.
  void release_memory();
  /// Why the direct path was given up in the last iteration; empty if it was not. The next set_path decides.
  const std::string& failure() const { return failure_; }
  /// Of the last iteration.
  const Arrivals& arrivals() const { return delivered_; }

 private:
  friend class FailoverTransfer;
  using Messages = std::vector<std::shared_ptr<FailoverMessage>>;
  enum class State { direct, leaving, left };  // leaving: told the peer, who has not answered yet

  bool poll(FailoverMessage& message);
  bool poll_inner(FailoverMessage& message);
  void start(FailoverMessage& message);
  void keep(FailoverMessage& message);
  bool acknowledged(FailoverMessage& message);
  void take(const FailoverMessage& message);
  void serve();  // hears the peer
  void leave(const std::string& reason);
  void give_up_receives();
  void join_peer(const std::vector<std::int32_t>& here);
  void make_delegated();
  bool all_here();

  Link* direct_ = nullptr;
  MakeDelegated make_;
  kernels::Device& device_;
  FailoverOptions options_;
  ControlMessages control_;
  Signal signal_;
  std::unique_ptr<DelegatedLink> delegated_;
  Path path_ = Path::direct;
  State state_ = State::direct;
  std::string failure_;
  std::uint64_t iteration_ = 0;
  Arrivals arrived_, delivered_;  // in this iteration, in the last one
  Messages sent_, received_;      // of this iteration
  Messages abandoned_;  // direct sends of iterations that left the direct path, with the bytes that they read
  std::vector<TransferPtr>
      lingering_;  // delegated sends that the peer has, which their delegates do not know yet
  std::vector<std::unique_ptr<kernels::Buffer>> spare_;  // kept bytes' memory, for reuse
};

}  // namespace tenax::comm
