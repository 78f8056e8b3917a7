# What [[inject]] does to replicas: a process that dies or stops at any point of a step, links that are dark. The run ends with
# status 0, each sample counted once, and with the weights of a run that nothing happened to.
source "$(dirname "$0")/launch.sh"
steps=20
usual="run.train_steps=$steps optimizer.adam_eps=1e-4 parallel.replicas=2 checkpoint.interval=5 replicas.dead_ms=600
  replicas.heartbeat_ms=50"
# The run is over before a lost replica would start again. Who awaits it says so.
alone="replicas.restart_delay_s=60"
awaited="replicas.min_replicas=2"
hasten_failures

of() { grep -c "$2" runs/$1/$3 || true; }  # NAME WHAT FILE: how many lines say so
# sound NAME: as if nothing had happened.
sound() {
  audited $1
  "$TENAX" export runs/$1 --out $1.safetensors >$1.export 2>&1 || fail "export of $1: $(cat $1.export)"
  claim weights $1.safetensors quiet.safetensors 1e-5
}
# again REPLICA: it dies first, once three steps are done, so that the state which it fetches is that of a step from the third on.
again() { echo "\n[[inject]]; kind = \"process\"; replica = $1; from_step = 3; point = \"passes\""; }
# struck NAME LINES override…: the fault has come, and is got over.
struck() {
  must_launch_with "$@"
  ls runs/$1/replica-*/inject-0.rank-* >/dev/null 2>&1 || fail "$1: the fault has not come"
  sound $1
}

must_launch_with quiet ""
sound quiet
process() { echo "kind = \"process\"; from_step = ${STEP:-7}; replica = $1; point = \"$2\"; signal = \"$3\""; }
# The supervisor gives an mpirun that does not end 20 s. Nothing else happens in them.
struck mpirun-stops "$(process 1 passes STOP); rank = -1" $alone &
patience=$!
for signal in KILL STOP; do
  for point in passes exchange vote commit; do struck $point-$signal "$(process 1 $point $signal)" $alone; done
  # The other rank of that replica lives on for a second or two.
  OMPI_MCA_odls_base_sigkill_timeout=1 struck update-$signal "$(process 1 update $signal); rank = 1" $alone $(layout 1 2 1)
  struck checkpoint-$signal "$(process 0 checkpoint $signal)" $alone
  # A replica that died before is awaited: it comes back and takes the others' state.
  for point in state_receive join; do
    STEP=3 struck $point-$signal "$(STEP=3 process 1 $point $signal)$(again 1)" $awaited
    [ "$(of $point-$signal replica_lost events.jsonl)" = 2 ] || fail "$point, $signal: not both were lost"
  done
  # The one that gives its state has the last one: back to the checkpoint.
  struck state_send-$signal "$(STEP=3 process 0 state_send $signal)$(again 1)" $awaited
  [ "$(of state_send-$signal void_from ledger.jsonl)" = 1 ] ||
    fail "state_send, $signal: not one line of void steps: $(grep -hv squares runs/state_send-$signal/ledger.jsonl runs/state_send-$signal/events.jsonl)"
  echo "ok $signal at each point of a step"
done

struck mpirun "$(process 1 passes KILL); rank = -1" $alone
wait $patience || fail "an mpirun that stops"
# No replica is lost because a busy machine adds a second; a rank that stands for one may also be one that hangs.
patient="replicas.dead_ms=2000 replicas.hang_factor=1e9"
struck short-stop "$(process 1 passes STOP); stop_s = 1" $patient
[ "$(of short-stop replica_lost events.jsonl)" = 0 ] || fail "a replica is lost that stood still for half of dead_ms"
echo "ok an mpirun that dies, or stops; a short stop evicts nobody"

# Steps of 0.1 s, for what takes time.
slow='\n[[inject]]; kind = "link_delay"; replicas = [0, 1]; delay_ms = 10'
struck short-partition 'kind = "partition"; replicas = [0, 1]; seconds = 1; from_step = 5' $patient
[ "$(of short-partition replica_lost events.jsonl)" = 0 ] || fail "a replica is lost over a partition of half of dead_ms"
struck partition 'kind = "partition"; replicas = [1, 0]; seconds = 3; from_step = 5'
[ "$(of partition replica_lost events.jsonl)" -ge 1 ] || fail "neither of two is lost that do not hear each other"
[ "$(of partition '"replica_lost", "replica": 0' events.jsonl)" = 0 ] || fail "both are lost"
[ "$(of partition void_from ledger.jsonl)" = 0 ] || fail "steps are void though a replica has their state"
struck service "kind = \"partition\"; replica = 1; service = true; seconds = 2; from_step = 5$slow"
[ "$(of service silent events.jsonl)" = 1 ] || fail "a replica that the service does not hear is not lost"
echo "ok partitions"
