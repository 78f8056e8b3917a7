# Two replicas and a warm spare on hosts that a stub of a remote shell plays: the spare takes the place of one that dies, another
# spare starts where that one was, and one that vanishes is replaced. Then a second supervisor, and the end of the run.
source "$(dirname "$0")/launch.sh"

stub_shell
run=warm overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100 replicas.warm_spares=1
  'replicas.hosts=["red","blue","green"]' replicas.remote_shell=$PWD/shell 'replicas.state_interfaces=["lo"]')
# spares: the ranks that were started as spares. A replica that was one keeps its command line.
spares() { pgrep -f -- "^$TENAX --join $PWD/runs/$run/spare-0/join"; }
spare() { pgrep -n -f -- "^$TENAX --join $PWD/runs/$run/spare-0/join" || true; }  # numbers of processes begin anew
# await_spares N: so many have become ready.
ready() { cat runs/$run/spare-0/log 2>/dev/null | grep -c "waits for a replica's place" || true; }
await_spares() {
  for _ in $(seq 1200); do
    [ "$(ready)" -ge $1 ] && return
    sleep 0.05
  done
  fail "no spare is ready: $(tail -n 5 runs/$run/spare-0/log $run.out $run.err)"
}
# await_event NAME COUNT
await_event() {
  for _ in $(seq 1200); do
    [ "$(events $run $1)" -ge $2 ] && return
    sleep 0.05
  done
  fail "no $2 events $1: $(tail -n 5 $run.out $run.err)"
}
supervise
trap stop_all EXIT
await_commits 20
await_spares 1
taken=$(spare)
[ -n "$taken" ] || fail "the spare has no process"
kill -KILL "$(rank_of 1)"
await_event replica_join 1
await_commits 20
kill -0 $taken || fail "the spare has not gone on as the replica"
[ "$(sed -n 's/.*"replica": 1, "incarnation": 2, .*"pid": \([0-9]*\).*/\1/p' runs/$run/launch.json)" != "" ] || fail "launch.json: $(cat runs/$run/launch.json)"
[ "$(grep '"replica_start"' runs/$run/events.jsonl | grep '"replica": 1' | grep -c '"hosts": \["green"\], "spare": true')" = 1 ] ||
  fail "the events do not name the spare: $(grep replica_start runs/$run/events.jsonl)"
await_spares 2
grep -q "^blue .*/spare-0/join" calls || fail "the next spare is not where replica 1 was: $(cut -c1-60 calls)"
echo "ok a warm spare takes the place of a replica that died, and is replaced"

kill -KILL "$(spare)"
await_spares 3
[ "$(events $run replica_lost)" = 1 ] || fail "a spare that vanished took a replica with it"
kill -STOP "$(rank_of 0)"
await_event replica_join 2
await_commits 20
[ "$(grep '"replica_start"' runs/$run/events.jsonl | grep '"replica": 0' | grep -c '"spare": true')" = 1 ] || fail "replica 0 was started cold"
echo "ok a spare that vanishes is replaced, and takes the place of a replica that stopped"

await_spares 4
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
for _ in $(seq 200); do [ "$(spares | wc -l)" -gt 2 ] || break; sleep 0.05; done
[ "$(spares | wc -l)" = 2 ] || fail "a spare has outlived its supervisor, or took a replica with it"
lost=$(events $run replica_lost)
supervise
await_commits 20
await_spares 5
[ "$(events $run replica_lost)" = $lost ] || fail "the next supervisor has lost a replica that was a spare: $(tail -n 3 $run.out)"
stop_run
trap - EXIT
audited warm
none_left
! ls runs/$run/*/join 2>/dev/null || fail "join files are left"
echo "ok a supervisor that comes later starts spares of its own"
