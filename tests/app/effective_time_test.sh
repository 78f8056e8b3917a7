# Where the time of a run of replicas went: its causes are its wall time, and what is lost is what the ledger's steps took longer.
source "$(dirname "$0")/launch.sh"
passes="device.kind=emulated device.forward_ms=8 device.backward_input_ms=8 device.backward_weight_ms=8 device.optimizer_ms=2"
usual="checkpoint.interval=-1 replicas.heartbeat_ms=50 $(layout 1 1 1) $passes"
sed -E "s#= \"(initial|tokens)#= \"$golden/\1#" $golden/golden.toml >quiet.toml
{ cat quiet.toml; printf '\n[[inject]]\nkind = "process"\nreplica = 1\nrank = 0\nsignal = "KILL"\nfrom_step = 20\npoint = "exchange"\n'; } >struck.toml

# A machine that stands for 0.3 s of these six costs more than the share: three tries.
for quiet in quiet-1 quiet-2 quiet-3; do
  deck=quiet.toml must_launch $quiet parallel.replicas=2 run.train_steps=60 $usual
  "$RUN_CHECK" effective runs/$quiet 0.95 && break
done || fail "effective runs/$quiet 0.95"
tail -n 1 $quiet.out | grep -q "^effective [0-9.]* % of [0-9.]* s; lost: " || fail "the last line: $(tail -n 1 $quiet.out)"
echo "ok without a fault: $(tail -n 1 $quiet.out)"

# rule BATCH: a replica dies in a step and joins again; 100 steps of 100 ms. It dies behind its passes: the other has begun the step by
# then, however late a busy machine lets it run, so that the step is repeated.
for batch in keep shrink; do
  deck=struck.toml must_launch $batch parallel.replicas=2 run.train_steps=100 replicas.batch=$batch $usual
  audited $batch
  for name in replica_lost repeat replica_join; do [ "$(events $batch $name)" = 1 ] || fail "$batch: not one $name: $(cat runs/$batch/events.jsonl)"; done
  grep '"event": "replica_join"' runs/$batch/events.jsonl | grep '"first_step_seconds": ' | grep -q '"wait_seconds": ' ||
    fail "$batch: $(grep replica_join runs/$batch/events.jsonl)"
  claim effective runs/$batch 0.2
  echo "ok a death and a join, $batch: $(tail -n 1 $batch.out)"
done

"$TENAX" inspect runs/keep >inspect.txt
grep -q "^  effective  *[0-9.]* s, [0-9.]* %" inspect.txt && grep -q "^  lost to absent  *[0-9.]* s" inspect.txt || fail "inspect: $(cat inspect.txt)"
"$TENAX" report runs/keep >report.txt 2>&1 || fail "report: $(cat report.txt)"
for text in 'class="wall"' '>replica 1<' '>lost<' '>joined<' '>absent<'; do grep -qF "$text" runs/keep/report.html || fail "no $text in the report"; done
echo "ok inspect and report"

# A supervisor that goes on for another counts what that one had counted.
run=passed_on deck=quiet.toml overrides=(parallel.replicas=2 $endless $usual)
supervise
trap stop_all EXIT
await_commits 20
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
sleep 1  # the replicas train on
supervise
await_commits 20
stop_run
trap - EXIT
claim effective runs/$run 0.2
echo "ok two supervisors: $(tail -n 1 $run.out)"
