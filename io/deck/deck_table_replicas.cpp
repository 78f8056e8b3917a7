// The part of the deck's table that says how replicas are kept alive.
#include "io/deck/deck_rows.hpp"

namespace tenax::io {
namespace {

using R = ReplicasSection;

void add_batch(Rows<R>& replicas) {
  replicas("batch", &R::batch,
           "keep = survivors compute a lost replica's samples, and every step has the global batch; shrink = "
           "a step has the samples of the replicas that contribute.");
  replicas(
      "lr_intervention", &R::lr_intervention,
      "shrink: the learning rate of a step with fewer replicas, times contributing/total (linear) or its "
      "root (sqrt).");
  replicas("min_replicas", &R::min_replicas, "With fewer alive training waits; at most parallel.replicas.")
      .within({1, 1024, false, false});
}

void add_launch(Rows<R>& replicas) {
  replicas("launcher", &R::launcher,
           "What starts a replica's ranks; auto = srun in an allocation of Slurm, else mpirun.");
  replicas("hosts", &R::hosts,
           "\"NAME\" or \"NAME:SLOTS\", cut in order into replicas; those left over are spares; none = this "
           "machine, or the allocation.")
      .example("[\"node1:8\", \"node2:8\"]");
  replicas("remote_shell", &R::remote_shell,
           "Command that starts another on a host: COMMAND HOST ARGUMENTS.");
  replicas("restart_limit", &R::restart_limit,
           "Starts in a row without a committed step before a replica is given up; 0 = never.")
      .within(kCount);
  replicas("restart_delay_s", &R::restart_delay_s,
           "Before a lost replica starts again; from the second start in a row without a committed step at "
           "least 1, 2, 4, ... 60.")
      .at_least(0)
      .in("seconds");
}

void add_membership(Rows<R>& replicas) {
  replicas("heartbeat_ms", &R::heartbeat_ms, "Time between two signs of life of a rank.")
      .within({10, 10000, false, false})
      .in("ms");
  replicas("dead_ms", &R::dead_ms,
           "Silence after which a replica is lost; at least three times heartbeat_ms.")
      .within(kSize)
      .in("ms");
  replicas("join_wait_ms", &R::join_wait_ms,
           "The longest that members wait at a step's end for one that still fetches state.")
      .within(kCount)
      .in("ms");
  replicas("service_wait_s", &R::service_wait_s,
           "How long a replica whose membership must change waits for the service, before a checkpoint and "
           "the end.")
      .above(0)
      .in("seconds");
  replicas(
      "hang_factor", &R::hang_factor,
      "Steps without progress of a rank before it counts as hanging, at least 1 s; its replica starts again.")
      .above(1);
  replicas("listen", &R::listen,
           "Where the membership service listens, ADDRESS:PORT; by default a free port of comm.interfaces, "
           "loopback where all is on one host.")
      .example("\"10.0.0.5:4000\"");
}

void add_exchange(Rows<R>& replicas) {
  replicas("wire_dtype", &R::wire_dtype, "Type of gradients between replicas; sums are fp32.");
  replicas("chunk_kib", &R::chunk_kib,
           "Piece in which gradients go from replica to replica, at least 4; 0 = 8192 on a GPU, elsewhere "
           "measured.")
      .within({0, 65536, false, false})
      .in("KiB");
  replicas("chunks_in_flight", &R::chunks_in_flight, "Pieces under way at once.")
      .within({1, 64, false, false});
  replicas("connections", &R::connections, "Connections to a neighbour in the ring of replicas.")
      .within({1, 16, false, false});
}

void add_hosts_and_store(Rows<R>& replicas) {
  replicas("zones", &R::zones,
           "One name a host, aligned with hosts: a replica stays in one zone, and gradients cross from zone "
           "to zone "
           "as seldom as can be.")
      .example("[\"rack1\", \"rack2\"]");
  replicas("warm_spares", &R::warm_spares, "Replicas that wait ready to step in; at most the spares.")
      .within(kCount);
  replicas("state_interfaces", &R::state_interfaces,
           "Network interfaces on which a replica catches up; none = comm.interfaces.")
      .example("[\"eth1\"]");
  replicas("state_gbps", &R::state_gbps,
           "The most that all ranks of a replica together fetch of a state they lack; 0 = no limit.")
      .at_least(0)
      .in("Gbit/s");
  replicas("store", &R::store,
           "Where membership is recorded: file, or etcd://HOST:PORT[,...]/PREFIX, or etcds:// with TLS.");
  replicas("store_user", &R::store_user,
           "User of etcd; the password in TENAX_STORE_PASSWORD, or the file TENAX_STORE_PASSWORD_FILE names.")
      .example("\"tenax\"");
  replicas("store_ca", &R::store_ca,
           "File with the certificate that signed etcd's; none = those that the system trusts.")
      .example("\"ca.pem\"");
  replicas("digest_steps", &R::digest_steps,
           "The whole state is compared once in so many commits, not on a GPU; 0 = never.")
      .within({0, 1024, false, false});
}

}  // namespace

void add_replicas_rows(Keys& keys) {
  Rows<R> replicas(keys, "replicas", &Deck::replicas);
  add_batch(replicas);
  add_launch(replicas);
  add_membership(replicas);
  add_exchange(replicas);
  add_hosts_and_store(replicas);
}

}  // namespace tenax::io
