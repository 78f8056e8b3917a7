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
# launch.json has the mpirun of each replica, not the shell that has started it.
for id in $(grep -o '"replica": [0-9]*, "incarnation": [0-9]*, "host": "[a-z]*", "pid": [0-9]*' runs/hosts/launch.json | sed 's/.*"host": "\([a-z]*\)", "pid": \([0-9]*\)/\1:\2/'); do
  [ "$(cat /proc/${id#*:}/comm)" = mpirun ] || fail "$id is no mpirun"
  echo "${id%:*}" >>launched
done
[ "$(sort launched | xargs)" = "red spare" ] || fail "launch.json has replicas on $(xargs <launched): $(cat runs/hosts/launch.json)"
stop_run
trap - EXIT
audited hosts
# started_on HOST REPLICA TIMES: all of this replica's, and no other's.
started_on() {
  local all
  all=$(grep -c "^$1 cd .*'mpirun' .*/replica-$2/join'" calls)
  [ "$all" = $3 ] && [ "$(grep -v " '--end' " calls | grep -c "^$1 ")" = $3 ] || fail "replica $2 was started $all times on $1: $(cut -d' ' -f1 calls)"
}
started_on red 0 1
started_on blue 1 2
started_on spare 1 2
[ "$(grep '"replica_start"' runs/hosts/events.jsonl | grep -c '"hosts": \["blue"\], "spare": false')" = 2 ] || fail "the events name other hosts"
[ "$(grep '"replica_start"' runs/hosts/events.jsonl | grep -c '"hosts": \["spare"\], "spare": true')" = 2 ] || fail "the events do not name the spare"
[ "$(grep '"host_out"' runs/hosts/events.jsonl | grep -c '"host": "blue".*"failures": 2')" = 1 ] || fail "blue is not set aside"
! pgrep -f -- "--join $PWD/runs/" || fail "processes are left"
# Each incarnation's host was asked to end what is left of it. A rank that is stopped is out of the remote shell's reach.
[ "$(grep -c "^blue .* '--end' " calls)" -ge 2 ] || fail "nobody has looked for processes on blue: $(cut -c1-80 calls)"
echo "ok two hosts: two deaths on one of them, after which a spare takes its place"
