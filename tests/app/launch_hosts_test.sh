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
# launch.json has the mpirun of each replica, not the shell that has started it, soon after the replica has come.
launched() {
  grep -o '"replica": [0-9]*, "incarnation": [0-9]*, "host": "[a-z]*", "pid": [0-9]*' runs/hosts/launch.json |
    sed 's/.*"host": "\([a-z]*\)", "pid": \([0-9]*\)/\1 \2/' | sort
}
has_mpiruns() {
  local host pid found=
  while read -r host pid; do
    grep -qsxE 'mpirun|prterun' /proc/$pid/comm && found+="$host "
  done < <(launched)
  [ "$found" = "red spare " ]
}
for _ in $(seq 100); do has_mpiruns && break; sleep 0.1; done
has_mpiruns || fail "launch.json has not the mpirun of each replica: $(cat runs/hosts/launch.json)"
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

# An end at once: hosts that take two seconds each to end what is left there are asked at the same time. The run waits for the replica
# that stands until then.
printf '#!/bin/sh\ncase "$2" in *--end*) sleep 2 ;; esac\nexec %s/shell "$@"\n' $PWD >slow_shell
chmod +x slow_shell
run=slow overrides=(parallel.replicas=4 $(layout 1 1 1) $endless checkpoint.interval=1000
  'replicas.hosts=["red","blue","green","grey"]' replicas.remote_shell=$PWD/slow_shell replicas.dead_ms=20000)
supervise
trap stop_all EXIT
await_commits 20
kill -STOP "$(rank_of 0)"  # it cannot end in order before the second signal
kill -INT $supervisor
sleep 1  # two that come before the supervisor has looked are one
SECONDS=0
kill -INT $supervisor
got=0
wait $supervisor || got=$?
[ $got = 1 ] && [ $SECONDS -le 6 ] || fail "ended at once: status $got after $SECONDS s: $(cat slow.err)"
trap - EXIT
none_left
echo "ok an end at once, on hosts that take two seconds each"
