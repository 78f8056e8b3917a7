#!/usr/bin/env bash
# Places that a run may find taken or too small: a run directory with another run in it, /dev/shm of 64 KiB and less, a disk
# that is full, a folder that goes away.
#
#   bash tests/soak/places.sh        as root: it mounts small file systems in name spaces of its own
source "$(dirname "$0")/common.sh"
enter_work places

two_runs() {
  start first "1 1 2" run.train_steps=100000 optimizer.lr_decay_steps=100000
  await_step first 30
  local resume
  for resume in auto never; do
    train 2 soak.toml run.name=first run.train_steps=100000 optimizer.lr_decay_steps=100000 $(layout 1 1 2) run.resume=$resume optimizer.lr=1e-5
    status=$?
    [ $status = 1 ] || failed "a second run (resume = $resume) has status $status"
    grep -qE "$(hostname).*[0-9]+" err.log && [ "$(grep -c . err.log)" = 1 ] || failed "a second run says: $(cat err.log)"
    [ ! -e runs/first.1 ] || failed "a second run moved the first one's directory"
    tally "second run refused ($resume): $(cut -c1-150 err.log)"
  done
  kill -KILL "$job" $(ranks) 2>/dev/null
  wait "$job" 2>/dev/null
  train 2 soak.toml run.name=first run.train_steps=60 optimizer.lr_decay_steps=100000 $(layout 1 1 2) ||
    failed "after the first run was killed: $(cat err.log)"
  tally "started after the owner was killed"
}

small_shared_memory() {  # SIZE RANKS "T P D"
  local status=0
  unshare -m bash -c 'mount -t tmpfs -o size='"$1"' tmpfs /dev/shm && shift &&
    timeout 120 mpirun -n '"$2"' "$@" && status=0 || status=$?; ls -A /dev/shm >'"$work"'/left; exit $status' -- - \
    "$TENAX" soak.toml run.name="shm-$1-$2" $(layout $3) run.train_steps=60 >out.log 2>err.log </dev/null || status=$?
  [ $status = 0 ] || failed "/dev/shm of $1, $2 ranks: status $status: $(tail -n 5 err.log)"
  [ -f "runs/shm-$1-$2/checkpoints/step-000060.h5" ] || failed "/dev/shm of $1, $2 ranks: no checkpoint at the end"
  ! grep -q checkpoint_failed "runs/shm-$1-$2/events.jsonl" || failed "/dev/shm of $1, $2 ranks: a checkpoint failed"
  ! grep tenax left || failed "/dev/shm of $1, $2 ranks: something stays behind"
  tally "/dev/shm of $1, $2 ranks"
}

folder_removed() {
  start removed "1 1 2"
  await_step removed 50
  rm -rf runs/removed/checkpoints
  ended_within 120
  [ "$status" = 0 ] || failed "checkpoints removed in mid-run: status $status: $(cat removed.err)"
  [ -f runs/removed/checkpoints/step-000400.h5 ] || failed "checkpoints removed in mid-run: none at the end"
  start vanished "1 1 2"
  await_step vanished 50
  rm -rf runs/vanished
  ended_within 120
  [ "$status" = 0 ] || failed "run directory removed in mid-run: status $status: $(cat vanished.err)"
  [ -f runs/vanished/checkpoints/step-000400.h5 ] && [ -s runs/vanished/metrics.jsonl ] && [ -s runs/vanished/events.jsonl ] ||
    failed "run directory removed in mid-run: $(ls -A runs/vanished)"
  tally "folders removed in mid-run"
}

small_disk() {
  mkdir -p small && mount -t tmpfs -o size=16m tmpfs small || { failed "no tmpfs can be mounted here"; return; }
  train 1 soak.toml run.output_dir=$work/small/run $(layout 1 1 1)  # room for three checkpoints of some 4 MB, and not one more
  status=$?
  [ $status = 0 ] || failed "a disk with room for three checkpoints: status $status: $(cat err.log)"
  [ -f small/run/checkpoints/step-000400.h5 ] || failed "a small disk: no checkpoint at the end: $(ls small/run/checkpoints)"
  umount small && mount -t tmpfs -o size=2m tmpfs small
  train 1 soak.toml run.output_dir=$work/small/run $(layout 1 1 1)
  status=$?
  [ $status = 1 ] && [ "$(grep -c . err.log)" = 1 ] || failed "a disk without room for one: status $status: $(cat err.log)"
  tally "small disks: $(cut -c1-150 err.log)"
  umount small
}

two_runs
for size in 8k 64k 1m; do
  small_shared_memory $size 4 "2 2 1"
  small_shared_memory $size 1 "1 1 1"
done
folder_removed
small_disk
nothing_left || failed "at the end"
finish "places"
