# Replicas on two hosts, which a stub of a remote shell plays: each mpirun is started on its own host, one dies and comes back,
# and dies again: then on a spare host.
source "$(dirname "$0")/launch.sh"

stub_shell
run=hosts overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100
  'replicas.hosts=["red","blue","spare"]' replicas.remote_shell=$PWD/shell)
supervise
trap stop_all EXIT
await_commits 20
for signal in KILL STOP KILL; do
  await_members
  kill -$signal "$(rank_of 1)"
  await_commits 10
done
await_members
stop_run
trap - EXIT
audited hosts
# started_on HOST REPLICA TIMES: all of this replica's, and no other's.
started_on() {
  local all
  all=$(grep -c "^$1 cd .*'mpirun' .*/replica-$2/join'" calls)
  [ "$all" = $3 ] && [ "$(grep -c "^$1 " calls)" = $3 ] || fail "replica $2 was started $all times on $1: $(cut -d' ' -f1 calls)"
}
started_on red 0 1
started_on blue 1 2
started_on spare 1 2
[ "$(grep '"replica_start"' runs/hosts/events.jsonl | grep -c '"hosts": \["blue"\], "spare": false')" = 2 ] || fail "the events name other hosts"
[ "$(grep '"replica_start"' runs/hosts/events.jsonl | grep -c '"hosts": \["spare"\], "spare": true')" = 2 ] || fail "the events do not name the spare"
[ "$(grep '"host_out"' runs/hosts/events.jsonl | grep -c '"host": "blue".*"failures": 2')" = 1 ] || fail "blue is not set aside"
! pgrep -f -- "--join $PWD/runs/" || fail "processes are left"
echo "ok two hosts: two deaths on one of them, after which a spare takes its place"
