// PortWatch: learns at once what becomes of RDMA ports.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/socket.hpp"
#include "comm/verbs.hpp"
#include "comm/verbs/port_query.hpp"

struct ibv_async_event;

namespace tenax::comm::verbs {

struct PortChange {
  enum class Kind {
    down,  ///< it cannot be used: `status.obstacle` says why
    up,    ///< it can be used, with the addresses in `status`, which may be others than before
    lost,  ///< its device has failed or is gone
    found  ///< its device is there again, opened anew; the port itself may still be down
  };
  Kind kind = Kind::down;
  PortStatus status;
};

/// "down", "up", "lost", "found".
const char* name_of(PortChange::Kind kind);

/// Reads the asynchronous events of devices and asks each port that they are about what it is like. A
/// device that fails or goes is let go and looked for by its name. Every port is asked again with each
/// look, though no event may have come.
///
/// Thread rule: it has a thread of its own, which calls `on_change`: for one port in order, only when
/// something has changed. Destroying it waits for that call.
class PortWatch {
 public:
  using OnChange = std::function<void(const PortChange&)>;
  static constexpr double kLooks_s = 5;
  /// Of so many looks one asks the ports that are usable too: of these the device's events tell, and queue pairs that fail.
  static constexpr int kLooksUntilAll = 6;

  /// `ports`: as Ports::chosen() has them. `looks_s`: between two looks. Throws Error(link) where the kernel has no descriptor left.
  PortWatch(const std::vector<PortStatus>& ports, VerbsPortOptions options, OnChange on_change,
            double looks_s = kLooks_s);
  ~PortWatch();
  PortWatch(const PortWatch&) = delete;
  PortWatch& operator=(const PortWatch&) = delete;

  /// A queue pair has found that the port carries nothing, though no event says so: it is told as down,
  /// and asked again with the next look. Any thread.
  void report_failure(const std::string& port);

 private:
  struct Watched {
    std::string name;
    std::shared_ptr<Device> device;  ///< null: lost
    std::vector<PortStatus> ports;
  };

  void run();
  void wake();
  void wait(double until_s);
  /// What has been reported since; nothing: the watch is to end.
  std::optional<std::set<std::string>> take_reports();
  void believe(const std::set<std::string>& failed_ports);
  void read_events();
  void read_events(Watched& watched);
  void handle(Watched& watched, const ibv_async_event& event);
  void ask(Watched& watched, PortStatus& port, bool has_failed);
  void lose(Watched& watched);
  void look();
  void find(Watched& watched);

  std::vector<Watched> watched_;
  VerbsPortOptions options_;
  OnChange on_change_;
  double looks_s_;
  int looks_ = 0;
  std::mutex mutex_;  // guards the next two
  std::set<std::string> reported_;
  bool is_over_ = false;
  FileDescriptor wake_;  // an eventfd
  std::thread thread_;
};

}  // namespace tenax::comm::verbs
