// RunTransport: what a rank of a run connects to others with, beside MPI.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/training/path_news.hpp"
#include "app/training/run_rank.hpp"
#include "app/training/transport_text.hpp"
#include "comm/transport/transports.hpp"

namespace tenax::app {

/// Collective: the interfaces that a run's ranks listen on (comm::TransportOptions::interfaces).
std::vector<std::string> job_interfaces(RunRank& rank);

/// One thread. Its transports, and their connections, do not outlive it.
class RunTransport {
 public:
  /// `rank` must outlive it.
  explicit RunTransport(RunRank& rank) : rank_(rank), news_(rank.world().rank(), rank.world().host()) {}

  /// Collective: a transport of the deck's kind. Throws comm::AgreedError for what some rank cannot do. A
  /// rank that may not lock `locked_bytes` has no use for its RDMA ports.
  std::unique_ptr<comm::Transport> create(std::int64_t locked_bytes);
  /// `transport`, whose connections' ways are told to news().
  std::unique_ptr<comm::Transport> watch(std::unique_ptr<comm::Transport> transport);
  /// Once there is one.
  const std::optional<TransportText>& text() const { return text_; }
  PathNews& news() { return news_; }

 private:
  void open_ports(std::int64_t locked_bytes);
  bool names_devices() const;
  RankPorts own_ports() const;
  void refuse_without_ports() const;

  RunRank& rank_;
  PathNews news_;
  std::unique_ptr<comm::VerbsRank> verbs_;  // null where RDMA is not used
  int local_rank_ = 0;                      // among the run's ranks on its host
  int place_on_node_ = 0;                   // among those of them on its NUMA node
  std::string lock_obstacle_;               // why what it needs cannot be registered; empty where it can
  std::optional<TransportText> text_;
};

}  // namespace tenax::app
