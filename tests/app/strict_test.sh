# Bad input ends with the contract's status, one clear message on stderr and no output that was not there before.
source "$(dirname "$0")/common.sh"
deck=$golden/golden.toml

# refuses STATUS RANKS PATTERN deck override…: one line on stderr, which matches; no output; nothing on disk; no hang.
refuses() {
  local status=$1 ranks=$2 pattern=$3 got=0
  shift 3
  rm -rf runs
  train "$ranks" "$@" || got=$?
  [ $got = "$status" ] || { cat err.log >&2; fail "status $got instead of $status: $*"; }
  grep -qE "$pattern" err.log || { cat err.log >&2; fail "no message like '$pattern': $*"; }
  [ "$(grep -vc '^$' err.log)" = 1 ] || { cat err.log >&2; fail "not one line: $*"; }
  local banner='^(tenax|model|layout|pipeline|memory|device|note|  ) '
  [ $status = 1 ] || banner='^$'  # what is wrong on any machine is seen before anything is said
  ! grep -vE "$banner" out.log || fail "output before the error: $*"
  [ ! -e runs ] || fail "left a run directory: $*"
  echo "ok $pattern"
}

hasten_failures
sed 's/train_steps/train_stepz/' $deck >unknown.toml
refuses 2 2 'unknown.toml:[0-9]+:[0-9]+: .*train_stepz.*train_steps' unknown.toml
refuses 2 2 'command line: run.train_steps: .*integer' $deck run.train_steps=many
refuses 2 2 'absent.toml.*' absent.toml
two="parallel.tensor_parallel_size"
refuses 2 3 'num_attention_heads.*(divisible|multiple)' $deck $two=3
refuses 2 5 'num_layers' $deck parallel.pipeline_parallel_size=5
refuses 2 1 'global_batch_size' $deck batch.micro_batch_size=3
refuses 2 2 'command line: run.resume' $deck $two=2 run.resume=
refuses 2 2 'activation_limit|at most|hold' $deck parallel.pipeline_parallel_size=2 pipeline.schedule=gpipe pipeline.activation_limit=1
[ -e /dev/nvidia0 ] || refuses 1 2 'TENAX_CUDA|no CUDA device' $deck $two=2 device.kind=cuda
refuses 2 2 'mpirun -n 4' $deck $(layout 2 2 1)
refuses 1 2 'absent.bin' $deck $two=2 data.train=absent.bin
: >empty.bin
refuses 1 2 'empty.bin.*empty' $deck $two=2 data.train=$PWD/empty.bin
head -c 1001 $golden/tokens.bin >odd.bin
refuses 1 2 'odd.bin' $deck $two=2 data.train=$PWD/odd.bin
refuses 1 2 'tokens.bin.*(vocab|token)' $deck $two=2 model.vocab_size=100 model.init_weights=
refuses 1 2 'initial.safetensors.*' $deck $two=2 model.hidden_size=96

huge="model.num_layers=400 model.hidden_size=16384 model.init_weights="
refuses 1 2 'needs [0-9.]+ GiB on .*, [0-9.]+ GiB are available' $deck $two=2 $huge
grep -q '^memory   up to' out.log || fail "the banner does not come before the refusal"
refuses 1 2 'cannot allocate' $deck $two=2 $huge run.ignore_memory=true checkpoint.interval=-1

head -c 400000 $golden/initial.safetensors >short.safetensors
refuses 1 2 'short.safetensors' $deck $two=2 model.init_weights=$PWD/short.safetensors
{ printf '\377\377\377\377\377\377\377\177'; tail -c +9 $golden/initial.safetensors; } >lying.safetensors
refuses 1 2 'lying.safetensors' $deck $two=2 model.init_weights=$PWD/lying.safetensors

rm -rf runs
must_train 1 $deck run.name=good run.train_steps=2
good=$PWD/good.h5
cp runs/good/checkpoints/step-000002.h5 $good
size=$(stat -c %s $good)
head -c $((size / 2)) $good >cut.h5
refuses 1 2 'cut.h5.*truncated' $deck $two=2 run.resume=$PWD/cut.h5
for at in 600 $((size / 3)) $((size - 9)); do
  cp $good flipped.h5
  byte=$(od -An -tu1 -j $at -N 1 $good)
  printf "\\$(printf %03o $((byte ^ 4)))" | dd of=flipped.h5 bs=1 seek=$at conv=notrunc status=none
  refuses 1 2 'flipped.h5.*damaged' $deck $two=2 run.resume=$PWD/flipped.h5
done
refuses 1 2 'good.h5.*num_layers' $deck $two=2 run.resume=$good model.num_layers=2 model.init_weights=
refuses 1 2 'absent.h5' $deck $two=2 run.resume=$PWD/absent.h5

: >file
refuses 1 2 "$PWD/file" $deck $two=2 run.output_dir=$PWD/file/run
echo "ok all refusals"

# A disk for a little less than a checkpoint: its tensors would fit, what HDF5 writes around them does not. And a smaller one.
small=$((size / 4096 * 4096 - 4096))
[ "$(id -u)" = 0 ] && mkdir -p small && mount -t tmpfs -o size=$((small / 2)) tmpfs small 2>/dev/null ||
  skips "the full-disk part: no tmpfs can be mounted here"
trap 'umount small' EXIT
refuses 1 2 'small/checkpoints has .* left for checkpoints, and one takes' $deck $two=2 checkpoint.dir=$PWD/small/checkpoints
mount -o remount,size=$small small
got=0
train 2 $deck $two=2 checkpoint.dir=$PWD/small/checkpoints run.output_dir=$PWD/out || got=$?
[ $got = 1 ] || fail "status $got instead of 1 on a full disk"
[ "$(grep -c 'No space left' err.log)" = 1 ] || { cat err.log >&2; fail "not one message of a full disk"; }
[ "$(ls -A small/checkpoints | wc -l)" = 0 ] || fail "half a checkpoint is left on the full disk: $(ls -A small/checkpoints)"
grep -q '"event": "checkpoint_failed"' out/events.jsonl || fail "no event checkpoint_failed"
grep -q '"reason": "failed"' out/events.jsonl || fail "no event end with reason failed"

# /dev/shm is as small as a container's may be: checkpoints are written all the same, and nothing is left there.
small_memory() {
  unshare -m bash -c 'mount -t tmpfs -o size=64k tmpfs /dev/shm || exit
    timeout 240 mpirun -n 4 "$TENAX" "$@" >out.log 2>err.log </dev/null; echo "status $?, left:$(ls -A /dev/shm)"' - "$@"
}
got=$(small_memory $deck $(layout 2 2 1) checkpoint.interval=5 run.train_steps=10 run.output_dir=$PWD/shm)
[ "$got" = "status 0, left:" ] || { cat err.log >&2; fail "with a /dev/shm of 64 KiB: $got"; }
[ "$(ls shm/checkpoints)" = "$(printf 'step-000005.h5\nstep-000010.h5')" ] || fail "checkpoints: $(ls shm/checkpoints)"
echo "ok a small /dev/shm"
