# Faults around tenax launch: one message, the status of the contract, and no harm to the run.
source "$(dirname "$0")/launch.sh"

hasten_failures
# refused NAME STATUS TEXT override…: ends so within 20 s, and says TEXT in its only message. Where both replicas fail, the first one is
# not started again, which would be a second message, before the other has failed too.
refused() {
  local name=$1 status=$2 text=$3 got=0
  shift 3
  SECONDS=0
  launch $name parallel.replicas=2 replicas.restart_delay_s=8 "$@" || got=$?
  [ $got = $status ] && [ $SECONDS -le 20 ] && [ "$(grep -c . $name.err)" = 1 ] && grep -qF -- "$text" $name.err ||
    fail "$name: status $got after $SECONDS s: $(cat $name.err)"
}

cat >shell <<'END'
#!/bin/sh
echo "Could not resolve hostname $1" >&2
[ "$1" = here ] && shift && exec sh -c "$1" || exit 255
END
chmod +x shell
printf 'odd' >odd.bin
echo '[run' >broken.toml
touch file
refused data 1 nowhere.bin data.train=nowhere.bin
refused tokens 1 odd.bin data.train=$PWD/odd.bin
refused weights 1 nowhere.safetensors model.init_weights=nowhere.safetensors
refused place 1 "run directory" run.output_dir=$PWD/file/run
refused host 1 "Could not resolve hostname nowhere" 'replicas.hosts=["nowhere:2"]' replicas.remote_shell=$PWD/shell
refused slots 1 slots 'replicas.hosts=["here"]'
deck=broken.toml refused deck 2 broken.toml:1
deck=absent.toml refused no_deck 2 absent.toml
refused diverged 1 "the run has diverged" optimizer.lr=1e30 run.train_steps=1000
[ "$(events diverged replica_start)" = 2 ] || fail "a run that has diverged is started again"
echo "ok data, weights, directory, host, deck and a rate that diverges"

# Whoever reads the output goes: the run comes to its end all the same, and says that the rest could not be written.
{
  timeout 240 "$TENAX" launch $deck run.name=unread ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} parallel.replicas=2 \
    2>unread.err </dev/null || echo $? >unread.status
} | head -n 1 >unread.out
[ "$(cat unread.status)" = 1 ] && grep -q "cannot write to standard output" unread.err ||
  fail "output that nobody reads: status $(cat unread.status): $(cat unread.err)"
tail -n 1 runs/unread/events.jsonl | grep -q '"event": "end".*"reason": "completed"' ||
  fail "output that nobody reads: the last event is $(tail -n 1 runs/unread/events.jsonl)"
audited unread
echo "ok output that nobody reads"

# A deck that says nothing of a tokenizer: a replica settles that when it reads the text, and is of the run all the same.
head -c 40000 /dev/urandom | base64 >text.txt
cat >text.toml <<'D'
[run]
train_steps = 10
[model]
num_layers = 1
num_attention_heads = 1
hidden_size = 32
vocab_size = 256
seq_length = 32
[data]
train = "text.txt"
[batch]
global_batch_size = 4
[optimizer]
lr = 1e-3
[parallel]
replicas = 2
D
deck=text.toml must_launch text
audited text
echo "ok a text without a word on its tokenizer"

# The run goes on without a supervisor, and with one again: no ledger has the steps between.
train 1 text.toml run.name=text run.train_steps=20 parallel.replicas=1 2>/dev/null || fail "without a supervisor: $(cat err.log)"
grep -q "that of the steps before is kept as .*/ledger.jsonl.1" err.log || fail "the ledger: $(cat err.log)"
deck=text.toml must_launch text run.train_steps=30
audited text
[ "$(grep -c '"loss"' runs/text/metrics.jsonl)" = 30 ] && [ "$(commits text)" = 10 ] || fail "not each step once: $(cat runs/text/metrics.jsonl)"
echo "ok a run that goes on without replicas, and with them again"

# One of two hosts: the other replica trains.
launch half parallel.replicas=2 'replicas.hosts=["here","nowhere"]' replicas.remote_shell=$PWD/shell replicas.restart_limit=2 ||
  fail "one unknown host: status $?: $(cat half.err)"
grep -q "replica 1 is given up: Could not resolve hostname nowhere" half.err || fail "one unknown host: $(cat half.err)"
audited half
grep '"given_up"' runs/half/events.jsonl | grep -q '"replica": 1, "host": "nowhere", "incarnation": 2, .*"detect_seconds": ' || fail "who is given up: $(grep given_up runs/half/events.jsonl)"
got=0
launch few parallel.replicas=2 'replicas.hosts=["here","nowhere"]' replicas.remote_shell=$PWD/shell replicas.restart_limit=1 replicas.min_replicas=2 || got=$?
[ $got = 1 ] && grep -q "replica 1 of 2 given up: 1 left, and replicas.min_replicas = 2" few.err || fail "too few are left: status $got: $(cat few.err)"
echo "ok one unknown host, where one replica is enough and where it is not"

# A program of the same bytes but for its commit, where that is known.
program=$TENAX
cp "$program" tenax
TENAX=$PWD/tenax
run=sound overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=1000 replicas.restart_limit=2)
supervise
trap stop_all EXIT
await_commits 20
service=$(sed -n 's/.*"service": "\([^"]*\)".*/\1/p' runs/sound/launch.json)
for bytes in 4 400 40000; do head -c $bytes /dev/urandom 2>/dev/null >/dev/tcp/${service%:*}/${service##*:} || true; done

# stranger TEXT EDIT: a replica with a join file that was changed so.
stranger() {
  local got=0
  mkdir -p stranger
  sed "$2" runs/sound/replica-1/join >stranger/join
  SECONDS=0
  timeout 60 mpirun -n 1 "$TENAX" --join $PWD/stranger/join >stranger.out 2>stranger.err </dev/null || got=$?
  [ $got = 1 ] && [ $SECONDS -le 25 ] && [ "$(grep -c . stranger.err)" = 1 ] && grep -q "$1" stranger.err ||
    fail "a stranger: status $got after $SECONDS s: $(cat stranger.err)"
}
elsewhere='s/"replica": 1/"replica": 7/'
stranger refused "$elsewhere"';s/\("secret": "\)......../\101234567/'
stranger "the run has no replica 7" "$elsewhere"
[ "$(events sound epoch)" = 1 ] || fail "the run was disturbed: $(cat sound.out)"
echo "ok garbage, a wrong secret, a stranger"

# given_up WHY WHAT: replica 1 is, and that is said.
given_up() {
  for _ in $(seq 200); do grep -q "is given up" $run.err && break; sleep 0.1; done
  grep -q "replica 1 is given up: $1" $run.err || fail "$2: $(cat $run.err)"
}

commit=$(sed -n 's/.*"build": "[^ ]* \([0-9a-f]\{40\}\).*/\1/p' runs/sound/replica-1/join)
if [ -n "$commit" ]; then
  LC_ALL=C sed "s/$commit/$(echo $commit | tr 0-9a-f 1-9a-f0)/g" "$TENAX" >other
  chmod +x other
  mv other tenax  # the next incarnation is of another build
  kill -KILL "$(rank_of 1)"
  given_up "it is build .*, the run is trained by" "another build"
  await_commits 20
  kill -KILL $supervisor
  wait $supervisor 2>/dev/null || true
  got=0
  launch sound "${overrides[@]}" || got=$?
  [ $got = 1 ] && [ "$(grep -c . sound.err)" = 1 ] && grep -q "living replicas of this run have build" sound.err ||
    fail "a supervisor of another build: status $got: $(cat sound.err)"
  cp "${program:?}" tenax
  supervise
  await_commits 20
  echo "ok a replica and a supervisor of another build"
fi
stop_run
audited sound

# Of two replicas one is left, by the deck: nobody has lost the other.
lost=$(events sound replica_lost)
overrides+=(parallel.replicas=1)
supervise
await_commits 20
stop_run
audited sound
[ "$(events sound replica_lost)" = $lost ] || fail "fewer replicas: one that the run has no more is lost"
echo "ok a run that goes on with fewer replicas"

# A file comes into the data folder: a replica that starts again would train on other samples than the rest. All that are started anew
# take it.
mkdir texts
mkdir validation
head -c 20000 text.txt | tee validation/a.txt >texts/a.txt
run=shards overrides=(data.train=texts data.validation=validation run.eval_interval=1000000 $endless checkpoint.interval=1000 replicas.restart_limit=2)
deck=text.toml supervise
await_commits 20
tail -c 20000 text.txt >validation/b.txt  # which changes no sample that is trained on
kill -KILL "$(rank_of 1)"
for _ in $(seq 200); do [ "$(events shards replica_join)" = 1 ] && break; sleep 0.1; done
await_commits 20
cp validation/b.txt texts/
kill -KILL "$(rank_of 1)"
given_up "its data files are others than those that the run trains on" "other data"
[ "$(grep -c '"members"' runs/shards/ledger.jsonl)" = 4 ] || fail "a replica with other data has joined: $(grep members runs/shards/ledger.jsonl)"
await_commits 20
stop_run
audited shards
deck=text.toml supervise
await_commits 20
await_members
stop_run
audited shards
grep -q "the data files are others than when the checkpoint was written" runs/shards/replica-0/log || fail "no word of other data: $(tail runs/shards/replica-0/log)"
[ "$(grep -c "the data files are others than when the checkpoint was written" shards.err)" = 1 ] || fail "not one word of other data: $(cat shards.err)"
echo "ok a replica that finds other data files, and a run that is started again with them"

# A run that begins with a checkpoint goes back to it until it has one of its own. The replica that dies was on a host that the next
# one cannot look at, as the lock of its folder says.
run=told overrides=(parallel.replicas=1 run.resume=$PWD/runs/text/checkpoints/step-000030.h5 run.train_steps=1000000 run.log_interval=1000 checkpoint.interval=1000000)
deck=text.toml supervise
await_commits 10
echo '{"host": "nowhere", "pid": 1, "pid_start": 1, "job": "", "restart": 0, "time": 1.5}' >runs/told/replica-0/.lock
kill -KILL "$(rank_of 0)"
for _ in $(seq 200); do [ "$(grep -c '"members"' runs/told/ledger.jsonl)" = 2 ] && break; sleep 0.1; done
await_commits 10
stop_run
audited told
grep -q '"void_from": 30' runs/told/ledger.jsonl || fail "not back to the checkpoint: $(grep -hv squares runs/told/ledger.jsonl)"
tail -n 1 runs/told/replica-0/events.jsonl | grep -q '"event": "end".*"reason": "signal"' || fail "the replica's end: $(tail -n 1 runs/told/replica-0/events.jsonl)"
echo "ok a run that is told its checkpoint, and a lock of a host that is gone"

# Nobody ends a run in which a supervisor and a replica have died: the other replica saves what it has, and the run goes on.
run=deserted overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=1000 replicas.service_wait_s=2)
supervise
await_commits 20
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
recorded=$(commits deserted)
sleep 1
kill -KILL "$(rank_of 1)"
for _ in $(seq 300); do [ -n "$(rank_of 0)" ] || break; sleep 0.1; done
[ -z "$(rank_of 0)" ] || fail "a replica without a supervisor waits for ever"
saved=$(ls runs/deserted/checkpoints | sed -n 's/^step-0*\([0-9]*\).h5$/\1/p' | tail -n 1)
[ "${saved:-0}" -gt $recorded ] || fail "saved after ${saved:-no} steps, of which $recorded were recorded: $(cat runs/deserted/replica-0/log)"
supervise
await_commits 20
stop_run
audited deserted
[ "$(grep -c void_from runs/deserted/ledger.jsonl)" = 0 ] && [ ! -e runs/deserted/replica-0/commits ] ||
  fail "what a replica saved alone is void: $(grep -hv squares runs/deserted/ledger.jsonl)"
echo "ok a run without a supervisor and one of its replicas"

# A stop that all replicas die of, before they have saved: what they have done is lost, and that is no end in order.
run=unsaved overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100000)
supervise
await_commits 20
kill -STOP "$(rank_of 0)" "$(rank_of 1)"
kill -USR1 $supervisor
got=0
wait $supervisor || got=$?
[ $got = 1 ] && grep -q "before the last checkpoint was written" unsaved.err || fail "a stop without a checkpoint: status $got: $(cat unsaved.err)"
echo "ok a stop that comes to no checkpoint"

# Supervisor and replicas die one after the other: what the replicas have saved meanwhile counts, also where an mpirun is still
# there when the next supervisor comes, or replicas that die before it has heard of them.
for die in before after; do
  run=$die overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=50)
  supervise
  await_commits 20
  kill -KILL $supervisor
  wait $supervisor 2>/dev/null || true
  recorded=$(commits $run)
  for _ in $(seq 200); do
    saved=$(ls runs/$run/checkpoints | sed -n 's/^step-0*\([0-9]*\).h5.replica-.*/\1/p' | sort -n | tail -n 1)
    [ "${saved:-0}" -gt $recorded ] && break
    sleep 0.05
  done
  [ "${saved:-0}" -gt $recorded ] || fail "nobody saves without a supervisor: $(ls runs/$run/checkpoints)"
  ranks="$(rank_of 0) $(rank_of 1)"
  if [ $die = before ]; then
    ending=$(pgrep -f -- "^mpirun .*--join $PWD/runs/$run/")
    kill -STOP $ending
    kill -KILL $ranks
    supervise
    sleep 1
    kill -CONT $ending
  else
    kill -STOP $ranks
    supervise
    for _ in $(seq 100); do grep -q "took over" $run.out $run.err && break; sleep 0.05; done
    kill -KILL $ranks
  fi
  for _ in $(seq 400); do [ "$(grep -c '"members"' runs/$run/ledger.jsonl)" = 2 ] && break; sleep 0.05; done
  await_commits 20
  stop_run
  audited $run
  resumed=$(sed -n 's/.*"step": \([0-9]*\), "event": "resume".*/\1/p' runs/$run/events.jsonl)
  [ "${resumed:-0}" -ge $saved ] || fail "they die $die: it goes on from step ${resumed:-0}, though $saved were saved: $(cat $run.err)"
  [ ! -e runs/$run/ledger.jsonl.1 ] || fail "they die $die: the ledger lacks steps that the checkpoint has: $(cat $run.err)"
  sed -n 's/.*"step": *\([0-9]*\).*"loss".*/\1/p' runs/$run/metrics.jsonl | awk '$1 != NR - 1 { exit 1 } END { if (!NR) exit 1 }' ||
    fail "they die $die: metrics have not each step once: $(cut -c 1-40 runs/$run/metrics.jsonl)"
done
echo "ok a checkpoint that no supervisor has given its place"

# Replicas complete the run by themselves: the next supervisor brings ledger, metrics and events to the end. Steps are slow, so that
# it dies before they do.
sed -E "s#= \"(initial|tokens)#= \"$golden/\1#" $golden/golden.toml >slow.toml
printf '\n[[inject]]\nkind = "link_delay"\nreplicas = [0, 1]\ndelay_ms = 2\n' >>slow.toml
steps=200
run=orphaned overrides=(parallel.replicas=2 $(layout 1 1 1) run.train_steps=$steps checkpoint.interval=1000 replicas.service_wait_s=1)
deck=slow.toml supervise
await_commits 20
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
for _ in $(seq 600); do [ -n "$(rank_of 0)$(rank_of 1)" ] || break; sleep 0.1; done
[ "$(commits orphaned)" -lt $steps ] || fail "the supervisor died too late"
for _ in 1 2; do deck=slow.toml launch orphaned "${overrides[@]}" || fail "a run that replicas have completed: status $?: $(cat orphaned.err)"; done
grep -q "is finished" orphaned.out || fail "it goes on: $(cat orphaned.out)"
audited orphaned
[ "$(commits orphaned)" = $steps ] && [ "$(grep -c '"loss"' runs/orphaned/metrics.jsonl)" = $steps ] || fail "steps are missing: $(cat audit.txt)"
tail -n 1 runs/orphaned/events.jsonl | grep -q '"event": "end".*"reason": "completed".*"effective_percent"' && [ "$(events orphaned end)" = 1 ] ||
  fail "the end: $(tail -n 2 runs/orphaned/events.jsonl)"
echo "ok a run whose replicas outlive the supervisor to its end"

# The run directory is moved away, or emptied, in mid-run: the run ends in order, and says why once. A file alone is made again.
for how in moved emptied; do
  run=$how overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=1000 run.max_minutes=5)
  supervise
  await_commits 20
  if [ $how = moved ]; then
    mv runs/moved/metrics.jsonl metrics.old
    for _ in $(seq 200); do grep -q "is made again" moved.err && break; sleep 0.05; done
    head -n "$(wc -l <metrics.old)" runs/moved/metrics.jsonl | cmp - metrics.old || fail "the metrics are not as they were: $(cat moved.err)"
    mv runs/moved runs/elsewhere
  else
    rm -rf runs/emptied/* || true  # the replicas go on writing meanwhile
  fi
  got=0
  wait $supervisor || got=$?
  [ $got = 1 ] && [ "$(grep -c "something of .*/runs/$how was removed or moved" $how.err)" = 1 ] ||
    fail "a run that is $how: status $got: $(cat $how.err)"
  ls runs/$how/checkpoints/step-*.h5 >/dev/null || fail "nothing was saved of a run whose directory was $how"
done
echo "ok a run directory that is moved away, or emptied"

# A signal to a replica that waits for others stops the run too.
run=waiting overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=1000 replicas.min_replicas=2 replicas.restart_delay_s=60)
supervise
await_commits 20
kill -KILL "$(rank_of 1)"
for _ in $(seq 100); do [ "$(events waiting replica_lost)" -ge 1 ] && break; sleep 0.1; done
sleep 0.5
SECONDS=0
kill -USR1 "$(rank_of 0)"
wait $supervisor && [ $SECONDS -le 10 ] || fail "a signal while a replica waits: after $SECONDS s $(cat waiting.err)"
trap - EXIT
audited waiting
ls runs/waiting/checkpoints/step-*.h5 >/dev/null || fail "nothing was saved by a replica that waits"
echo "ok a signal to a replica that waits"

# The disk is full in mid-run. A mount is this test's alone.
full_disk() {
  mount -t tmpfs -o size=20m tmpfs full && cd full || return 77
  timeout 60 "$TENAX" launch $deck run.output_dir=$PWD/run parallel.replicas=2 $endless checkpoint.interval=1000 >../full.out 2>../full.err </dev/null &
  until grep -q '"squares"' run/ledger.jsonl 2>/dev/null || ! kill -0 $!; do sleep 0.05; done
  dd if=/dev/zero of=filler bs=64k 2>/dev/null
  SECONDS=0
  wait $! || got=$?
  [ $got = 1 ] && [ $SECONDS -le 25 ] || { echo "status $got after $SECONDS s" >&2; return 1; }
}
mkdir full
got=77
if unshare -m true 2>/dev/null; then
  got=0
  TENAX=$TENAX deck=$deck endless=$endless unshare -m bash -c "got=0; $(declare -f full_disk); full_disk" || got=$?
fi
[ $got != 77 ] || skips "the full-disk part: no tmpfs can be mounted here"
[ $got = 0 ] && [ "$(grep -c . full.err)" = 1 ] && grep -q "No space left" full.err || fail "a full disk: $(cat full.err)"
echo "ok a full disk"
