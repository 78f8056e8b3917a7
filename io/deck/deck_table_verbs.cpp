// The part of the deck's table that concerns RDMA.
#include "io/deck/deck_rows.hpp"

namespace tenax::io {

void add_verbs_rows(Keys& keys) {
  using S = VerbsSection;
  Rows<S> verbs(keys, "verbs", &Deck::verbs);
  verbs("devices", &S::devices,
        "RDMA ports to use, in order of preference: \"NAME\" or \"NAME:PORT\", with @N for the host's N-th "
        "rank "
        "alone (from 0); none = every usable one (tenax ports lists them).")
      .example("[\"mlx5_0\", \"mlx5_1:1\"]");
  verbs("gid_index", &S::gid_index,
        "Row of each port's address table; -1 = that of RoCE v2 with an address in comm.interfaces, IPv4 "
        "first.")
      .within({-1, 255, false, false});
  verbs("silence_ms", &S::silence_ms,
        "A path on which nothing sent is acknowledged for so long is given up; for twice as long where the "
        "adapter does not say so itself.")
      .within({50, 60000, false, false})
      .in("ms");
  verbs("ring_kib", &S::ring_kib,
        "Registered memory at each end of a connection, once for each direction; a multiple of 4.")
      .within({64, 65536, false, false})
      .in("KiB");
  verbs("service_level", &S::service_level, "InfiniBand's service level; on RoCE the priority, at most 7.")
      .within({0, 15, false, false});
  verbs("traffic_class", &S::traffic_class, "Traffic class of packets; on RoCE 4 x DSCP.")
      .within({0, 255, false, false});
  verbs("gpu_direct", &S::gpu_direct,
        "auto = adapters read a GPU's messages in its memory where driver, kernel and adapter can; off = "
        "messages go through pinned host memory.");
}

}  // namespace tenax::io
