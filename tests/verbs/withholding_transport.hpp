// WithholdingTransport: messages arrive and their sender does not hear of it, until it sends one of them again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "comm/forwarding_transport.hpp"

namespace tenax::comm {

/// Thread rule: any thread.
class WithholdingTransport final : public ForwardingTransport {
 public:
  explicit WithholdingTransport(std::unique_ptr<Transport> inner);
  ~WithholdingTransport() override;

  /// From now on this end's acknowledgements are not sent, until a message arrives that had arrived before.
  void withhold();
  /// Whether since then a message has arrived of which the other end does not know.
  bool has_withheld() const;
  /// Messages that came again though they had arrived, so far.
  std::uint64_t repeated() const;

 private:
  class Gate;
  class Withholding;

  std::unique_ptr<Connection> wrap(std::unique_ptr<Connection> connection, const Peer& peer,
                                   const std::string& purpose) override;

  const std::shared_ptr<Gate> gate_;
};

}  // namespace tenax::comm
