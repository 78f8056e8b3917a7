// Two ranks' verbs transports in this process, each on a fake device of its own.
#pragma once

#include <gtest/gtest.h>

#include "tests/comm/transport/connection_checks.hpp"
#include "tests/comm/verbs/fake_verbs.hpp"
#include "tests/comm/verbs/verbs_transport.hpp"

namespace tenax::comm::verbs {

/// A port of a fake device, with its GID of 127.0.0.1.
inline Port fake_port(const std::shared_ptr<Device>& device, int number = 1) {
  Port port;
  port.device = device;
  port.number = number;
  port.gid_index = 1;
  port.gid[10] = port.gid[11] = std::byte{0xff};
  port.gid[12] = std::byte{127};
  port.gid[15] = std::byte{1};
  return port;
}

/// One connection after the other takes the device's first port.
inline VerbsOptions options_of(const std::string& device, double silence_s = kPatience_s) {
  VerbsOptions options;
  options.ports = [device] { return std::vector<Port>{fake_port(Device::open(device))}; };
  options.path.silence_s = silence_s;
  return options;
}

/// Devices "fake0" and "fake1".
class VerbsTest : public ::testing::Test {
 protected:
  explicit VerbsTest(double silence_s = kPatience_s) : silence_s_(silence_s) {
    host.add_device("fake0");
    host.add_device("fake1");
  }
  ConnectedPair& pair() {
    if (!pair_)
      pair_.emplace(verbs_transport(options_of("fake0", silence_s_)),
                    verbs_transport(options_of("fake1", silence_s_)));
    return *pair_;
  }
  /// Two others, who know nothing of what has failed before.
  ConnectedPair& new_pair() {
    pair_.reset();
    return pair();
  }
  Connection& zero() { return *pair().ends[0]; }
  Connection& one() { return *pair().ends[1]; }
  static void send(Connection& connection, std::span<const std::byte> payload, double deadline_s = 20) {
    MessageHeader header;
    header.payload_bytes = payload.size();
    connection.send(header, payload, Deadline::after_s(deadline_s));
  }
  static std::vector<std::byte> receive(Connection& connection) {
    const auto header = connection.receive(Deadline::after_s(20));
    std::vector<std::byte> payload(header ? header->payload_bytes : 0);
    connection.receive_payload(payload, Deadline::after_s(20));
    return payload;
  }

  fake_verbs::Host host;  // ends last

 private:
  const double silence_s_;
  std::optional<ConnectedPair> pair_;
};

}  // namespace tenax::comm::verbs
