#!/usr/bin/env bash
# Four replicas of two ranks under tenax launch on a machine that is too small for them; every few seconds a rank, an mpirun
# or the supervisor is stopped for half of the time after which silence counts as death. Nobody may be taken for dead,
# no replica for hung.
#
#   bash tests/soak/stops.sh [MINUTES=60] [SEED=1] [SECONDS_BETWEEN=3] [section.key=value …]
source "$(dirname "$0")/common.sh"
source "$(dirname "$0")/replicas.sh"
minutes=${1:-60} between=${3:-3} half_dead_s=0.5
RANDOM=${2:-1}
shift $(($# < 3 ? $# : 3))
enter_work stops
run=stops
overrides=(parallel.replicas=$replicas parallel.pipeline_parallel_size=2 run.train_steps=10000000
  optimizer.lr_schedule=constant run.eval_interval=0 checkpoint.interval=1000 run.log_interval=1000 "$@")

# stop_half WHAT PID
stop_half() {
  kill -STOP "$2" 2>/dev/null || return
  tally "stop of $1"
  sleep $half_dead_s
  kill -CONT "$2"
}

supervise
await_commits 20
end=$((SECONDS + minutes * 60))
while [ $SECONDS -lt $end ] && kill -0 $supervisor 2>/dev/null; do
  victim=$((RANDOM % replicas))
  case $((RANDOM % 8)) in
    0) stop_half "the supervisor" $supervisor ;;
    1) stop_half "an mpirun" "$(mpirun_of_replica $victim | pick)" ;;
    *) stop_half "a rank" "$(ranks_of_replica $victim | pick)" ;;
  esac
  sleep "$between"
done
stop_run
[ "$(epochs)" = 1 ] || failed "$(($(epochs) - 1)) changes of membership: $(grep '"replica_lost"' runs/$run/events.jsonl)"
! grep '"hang"' runs/$run/events.jsonl || failed "slow is not hung"
echo "$(commits) commits in one epoch"
finish "$minutes minutes of stops"
