# In a guest: a run that cannot have RDMA says why, once, and ends.
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"

# refused WHAT SENTENCE COMMAND …: it ends with status 1, and says so once.
refused() {
  local what=$1 sentence=$2 status=0
  shift 2
  "$@" "$TENAX" "$TENAX_SOURCE/tests/verbs/train.toml" parallel.pipeline_parallel_size=2 run.train_steps=1 comm.transport=verbs "${overrides[@]}" >refused.log 2>&1 </dev/null || status=$?
  [ $status = 1 ] || { cat refused.log; fail "$what: status $status instead of 1"; }
  [ "$(grep -cF "$sentence" refused.log)" = 1 ] || { cat refused.log; fail "$what: not once '$sentence'"; }
  ok "$what: $(grep -F "$sentence" refused.log)"
}
ranks=(mpirun -n 2)
export OMPI_MCA_odls_base_sigkill_timeout=0  # what is to be said has been said when the first rank ends

# unprivileged COMMAND …: a user who may open the devices, as distributions let users, and lock 64 KiB.
unprivileged() { setpriv --reuid 65534 --regid 65534 --clear-groups bash -c 'ulimit -l 64; exec "$@"' -- "$@"; }
chmod a+rwx . /dev/infiniband/*
overrides=('verbs.devices=[]')
if unprivileged test -x "$TENAX"; then
  refused "64 KiB of locked memory" 'raise "ulimit -l" (limits.conf; under Slurm PropagateResourceLimitsExcept=MEMLOCK)' unprivileged "${ranks[@]}"
else
  ok "64 KiB of locked memory: not tried, as root alone reaches $TENAX"
fi

overrides=('verbs.devices=["mlx5_0"]')
refused "an unknown device" 'verbs.devices names mlx5_0, which guest does not have; there are rxe_' "${ranks[@]}"
overrides=('verbs.devices=[]' verbs.gid_index=99)
refused "a bad GID index" 'comm.transport = "verbs": rank 0 (guest) has no port that can be used: ' "${ranks[@]}"
overrides=('verbs.devices=[]')
ip link set a0 down
ip link set b0 down
refused "idle devices" 'rxe_a0:1 is DOWN' "${ranks[@]}"
