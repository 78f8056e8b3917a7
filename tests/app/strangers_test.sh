# Strangers at the sockets of a run that trains: strangers_test.sh [COUNT (200)]. The run learns what an undisturbed one learns.
# For long: build/tests/app, with COUNT = 1000 and the environment that ctest -V -R '^strangers$' shows.
source "$(dirname "$0")/common.sh"
count=${1:-200}
steps="run.train_steps=100000 run.log_interval=1000 optimizer.lr_decay_steps=100000 checkpoint.interval=-1"
deck="$golden/golden.toml $(layout 1 2 1) pipeline.p2p=delegated"

for transport in auto tcp shm; do
  mpirun -n 2 "$TENAX" $deck run.name=$transport $steps comm.transport=$transport >out.log 2>err.log </dev/null &
  job=$!
  for _ in $(seq 600); do
    [ -f runs/$transport/metrics.jsonl ] && [ "$(grep -c '"loss"' runs/$transport/metrics.jsonl)" -gt 20 ] && break
    sleep 0.05
  done
  ranks=$(pgrep -P $job -x "$(basename "$TENAX" | cut -c1-15)") || { cat err.log; fail "no ranks run with $transport"; }
  "$STRANGERS" "$count" $ranks || fail "strangers at the sockets of $transport"
  [ $transport != shm ] || { for rank in $ranks; do
    for inode in $(find /proc/"$rank"/fd -lname 'socket:*' -printf '%l\n' | tr -dc '0-9\n'); do
      ! grep -hE "^ *[0-9]+: 0100007F:.* 0A .* $inode " /proc/net/tcp || fail "shm listens on loopback"
    done
  done; }
  kill -USR1 $job
  wait $job || { cat err.log; fail "the run with strangers ended with status $?"; }
  [ ! -s err.log ] || { cat err.log; fail "the run with strangers complains"; }
  done_steps=$(grep -c '"loss"' runs/$transport/metrics.jsonl)
  must_train 2 $deck run.name=quiet_$transport $steps run.train_steps="$done_steps" comm.transport=shm
  claim same runs/quiet_$transport/metrics.jsonl runs/$transport/metrics.jsonl
  echo "ok $transport: $done_steps steps"
done
