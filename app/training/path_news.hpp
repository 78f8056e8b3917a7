// PathNews: what happens to the ways between ranks while a run goes on, until it is recorded.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "app/training/iteration_watch.hpp"
#include "comm/control_group.hpp"
#include "comm/delegates/watched_transport.hpp"
#include "comm/verbs.hpp"

namespace tenax::app {

/// Any rank's; they become the events `port` and `reroute` of rank 0.
///
/// Thread rule: any thread brings news; one thread the rest.
class PathNews {
 public:
  PathNews(int rank, std::string host) : rank_(rank), host_(std::move(host)) {}

  void take(const comm::VerbsPortChange& change);
  void take(const comm::Reroute& reroute);
  bool any() const;
  /// Collective: writes what all ranks have, on rank 0. Connections that took one way for one reason
  /// are one event.
  void write(comm::ControlGroup& control, std::int64_t step, const WriteEvent& write);

 private:
  std::string take_text();

  const int rank_;
  const std::string host_;
  mutable std::mutex mutex_;
  std::vector<comm::VerbsPortChange> ports_;
  std::vector<comm::Reroute> reroutes_;
};

}  // namespace tenax::app
