# Replicas under tenax launch: equal to data parallelism, and none of its deaths ends the run or costs a sample.
source "$(dirname "$0")/launch.sh"

validations() { sed -n 's/.*"step": \([0-9]*\), "validation_loss": \([^}]*\)}.*/\1 \2/p' runs/$1/metrics.jsonl; }
validation="data.validation=$golden/tokens.bin run.eval_steps=2"
must_train 2 $deck run.name=data $(layout 1 1 2) optimizer.clip_grad=0 batch.micro_batch_size=1 $validation run.eval_interval=6
must_launch same parallel.replicas=2 $(layout 1 1 1) optimizer.clip_grad=0 batch.micro_batch_size=1 $validation run.eval_interval=6
audited same
# Norms are added up in another order; without clipping nothing depends on them.
for name in data same; do sed -n 's/.*"loss": \([^,]*\),.*/\1/p' runs/$name/metrics.jsonl >$name.losses; done
[ "$(wc -l <data.losses)" = 20 ] && cmp data.losses same.losses || fail "the losses differ"
last=$(basename "$(ls runs/data/checkpoints/step-*.h5 | tail -n 1)")
checksums runs/data/checkpoints/$last >data.txt
checksums runs/same/checkpoints/$last >same.txt
[ -s data.txt ] && cmp data.txt same.txt || fail "the checkpoints differ"
[ ! -e runs/same/replica-0/join ] || fail "the secret is left"
paste -d " " <(validations data) <(validations same) |
  awk '{ d = $2 - $4; if (NF != 4 || $1 != $3 || d * d > 1e-12) exit 1; steps = steps " " $1 } END { exit steps != " 6 12 18 20" }' ||
  fail "validations differ: $(validations data) and $(validations same)"
echo "ok two replicas learn the bits of two data-parallel ranks, and say the same validation losses"

if [ -z "${TENAX_DEVICE:-}" ]; then
  must_launch emulated parallel.replicas=3 $(layout 1 1 1) device.kind=emulated device.forward_ms=2 device.backward_input_ms=2 device.backward_weight_ms=2 run.train_steps=5
  [ "$(commits emulated)" = 5 ] || fail "the emulated device: $(commits emulated) steps"
  echo "ok replicas of the emulated device"
fi

run=struck overrides=(parallel.replicas=2 $(layout 1 2 1) $endless checkpoint.interval=25 $validation run.eval_interval=10)

supervise
trap stop_all EXIT  # a test that fails leaves no run behind
await_commits 20
run_id=$(sed -n 's/.*"run_id": "\([0-9a-f]*\)".*/\1/p' runs/struck/replica-0/join)
[ -n "$run_id" ] && ls -d /dev/shm/tenax-$run_id-* >/dev/null || fail "no scratch directory of this run"
for signal in KILL STOP; do
  await_members
  kill -$signal "$(rank_of 1)"
  await_commits 10
done
await_members
echo "ok a rank that is killed, one that is stopped"

await_commits 5  # it has joined
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
supervise
await_commits 10
# The one that was killed may not have recorded it. Then replica 1 tells the other.
for _ in $(seq 1200); do [ "$(events struck replica_join)" -gt 0 ] && break || sleep 0.05; done
took_over() { grep -q "took over 2 living replicas" struck.out; }  # said by another thread than that which records commits
for _ in $(seq 200); do took_over && break || sleep 0.05; done
took_over || fail "the living replicas were not taken over: $(cat struck.out)"
got=0
launch struck "${overrides[@]}" 2>/dev/null || got=$?
[ $got = 1 ] || fail "a second supervisor has status $got"
echo "ok a supervisor that is killed and started again"

await_members
before=$(events struck void)
pkill -KILL -f -- "^$TENAX --join $PWD/runs/struck/"
await_commits 30
# Void is what the newest checkpoint lacks; it may happen to have all.
read -r lost restored < <(sed -n 's/.*"step": \([0-9]*\), "event": "\(replica_lost\|epoch\)".*/\2 \1/p' runs/struck/events.jsonl |
  awk '$1 == "replica_lost" { lost = $2; restored = "" } $1 == "epoch" && restored == "" { restored = $2 } END { print lost, restored }')
[ $((restored % 25)) = 0 ] && [ $((lost - restored)) -ge 0 ] || fail "all died after $lost steps, restored are $restored"
[ "$(events struck void)" = $((before + (lost > restored))) ] || fail "steps from $restored to $lost have to be void, once"
await_members
stop_run
trap - EXIT
audited struck
[ -f runs/struck/checkpoints/step-$(printf %06d $(($(sed -n 's/^.*: \([0-9]*\) steps,.*/\1/p' audit.txt)))).h5 ] || fail "no checkpoint of the last step"
! ls -d /dev/shm/tenax-$run_id-* 2>/dev/null || fail "something is left in /dev/shm"
! pgrep -f -- "^$TENAX --join $PWD/runs/" || fail "processes are left"
echo "ok all replicas die at once; stopped in order"

# Users read of all that in the run directory: no validation twice or missing, but for one that the stop broke off; no event without
# its fields.
steps=$(sed -n 's/^.*: \([0-9]*\) steps,.*/\1/p' audit.txt)
validations struck | awk -v steps=$steps '$1 != ++n * 10 { exit 1 } END { exit n < int(steps / 10) - 1 }' ||
  fail "not one validation every 10 of $steps steps: $(validations struck | tr '\n' ';')"
# has EVENT FIELD…: some event of this kind, and all of them with these fields.
has() {
  local name=$1 field
  shift
  grep "\"event\": \"$name\"" runs/struck/events.jsonl >lines.txt || fail "there is no event $name"
  for field; do [ "$(grep -c "\"$field\": " lines.txt)" = "$(wc -l <lines.txt)" ] || fail "$name without $field: $(cat lines.txt)"; done
}
# Also a step that began under one supervisor and ended under another took its time.
"$TENAX" detect runs/struck/metrics.jsonl >changes.txt || fail "the iteration times of the run cannot be read"
has launch adopted
has replica_start replica incarnation hosts spare
has replica_lost replica reason detect_seconds host
has epoch epoch members reconfigure_seconds
has repeat kept_samples missing_samples stall_seconds
has replica_join replica seconds stall_seconds state_seconds state_bytes sources
[ $lost = $restored ] || has void void_from reason
grep '"reason": "silent"' runs/struck/events.jsonl | grep -q '"rank": [01]' || fail "which rank was silent is not said"
"$TENAX" inspect runs/struck >inspect.txt
grep -q "^  members  *0, 1, since epoch" inspect.txt && grep -q "^  replica 1 .*; lost [0-9]* times, last after .*; joined" inspect.txt ||
  fail "inspect: $(cat inspect.txt)"
"$TENAX" report runs/struck >/dev/null && grep -q '"replicas": 2' runs/struck/report.html || fail "the report does not know of replicas"
echo "ok records"

"$TENAX" plan $deck --json parallel.replicas=2 $(layout 1 1 1) | grep -q '"replica_bytes": [1-9]' || fail "the plan has no bytes between replicas"
"$TENAX" plan $deck --json $(layout 2 1 1) | grep -q '"swap_bytes": [1-9]' || fail "two ranks could not change places"
"$TENAX" plan $deck --json $(layout 1 1 1) | grep -q '"swap_bytes": null' || fail "one rank has nobody to change places with"
got=0
train 2 $deck run.name=unsupervised parallel.replicas=2 $(layout 1 1 2) || got=$?
[ $got = 2 ] && grep -q "tenax launch" err.log || fail "replicas without a supervisor: status $got: $(cat err.log)"
echo "ok bad input"
