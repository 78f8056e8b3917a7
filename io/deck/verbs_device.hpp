// An entry of verbs.devices: which RDMA ports, for which rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tenax::io {

struct VerbsDevice {
  std::string name;              ///< "mlx5_0"
  std::int64_t port = 0;         ///< from 1; 0 = each of the device's
  std::int64_t local_rank = -1;  ///< for that rank of its host alone, from 0; -1 = for all
  bool operator==(const VerbsDevice&) const = default;
};

/// Reads "NAME", "NAME:PORT", "NAME@N" or "NAME:PORT@N"; nothing for any other text.
std::optional<VerbsDevice> verbs_device(std::string_view text);

}  // namespace tenax::io
