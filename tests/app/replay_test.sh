# tenax replay: the steps after a checkpoint are the same twice, in any layout; where a host computes something else, step, tensor
# and rank are named. tenax inspect --where: which rank had what.
source "$(dirname "$0")/launch.sh"

# replay STATUS ARG…: output goes to out.log and err.log, and nothing else is left.
replay() {
  local expected=$1 status=0
  shift
  timeout 240 "$TENAX" replay "$@" ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} >out.log 2>err.log </dev/null || status=$?
  [ $status = $expected ] || fail "replay $*: status $status, not $expected: $(cat out.log err.log)"
  ! find runs "${TMPDIR:-/tmp}" /dev/shm -maxdepth 3 -name '.tenax-replay*' -newer start 2>/dev/null | grep . || fail "replay $*: something is left"
}
# says PART…: of the outcome as JSON.
says() {
  local part
  for part; do grep -qF -- "$part" out.log || fail "no '$part' in $(cat out.log)"; done
}

: >start  # what is older is not ours
must_train 8 $deck run.name=large $(layout 2 2 2) run.train_steps=6 optimizer.lr_decay_steps=20
must_train 2 $deck run.name=small $(layout 1 2 1) checkpoint.interval=10
large=runs/large/checkpoints/step-000006.h5 small=runs/small/checkpoints/step-000010.h5
before=$(find runs | sort | xargs ls -ld --time-style=full-iso | cksum)

replay 0 $large --steps 3
says "equal: 52 tensors on 8 ranks, after each of 3 steps from step 6 on"
replay 0 $small --steps 2 --json
says '"equal": true, "first_step": 10, "steps": 2, "ranks": 2'
replay 0 runs/small --steps 1 optimizer.lr=5e-4 $(layout 1 1 1)
says "on 1 rank, after each of 1 steps from step 20 on"
cp $golden/tokens.bin elsewhere.bin  # where the data have moved
replay 0 $small --steps 1 data.train=elsewhere.bin
[ "$(find runs | sort | xargs ls -ld --time-style=full-iso | cksum)" = "$before" ] || fail "a replay has touched the run's files"
echo "ok equal twice"

# Hosts are played by a stub of a remote shell. What it plays for `bad` adds the words in the file `fault`.
cat >shell <<END
#!/bin/sh
echo "\$1" >>$PWD/calls
line=\$2
[ "\$1" != bad ] || line="\$line \$(cat $PWD/fault)"
exec sh -c "\$line"
END
chmod +x shell
stub="replicas.remote_shell=$PWD/shell"
: >fault
replay 0 $small --steps 2 --on red,blue $stub
says "; blue (the first run: red)"
replay 0 $small --steps 2 --on red --json $stub
says '"hosts": ["red", "red"]'
[ "$(sort calls | uniq -c | xargs)" = "1 blue 3 red" ] || fail "hosts were called so often: $(sort calls | uniq -c)"
echo "ok on other hosts"

# A host whose learning rate is another: the first update makes all weights others.
echo "'optimizer.lr=2e-3'" >fault
replay 1 $small --steps 2 --on red,bad --json $stub
says '"equal": false' '"step": 10' '"tensor": "wte.weight", "part": "weight", "layer": null, "stage": 0' '"rank": 0' '"host": "bad", "first_host": "red", "is_updated": true' \
  '"differing_tensors": 52, "differing_ranks": 2'
# One that has other data computes other gradients, of the last stage first.
echo "'data.order=shuffled'" >fault
replay 1 $small --steps 2 --on bad,red $stub
says "step 10: gradient of " " differs first, before its update: " "stage 1, rank 1 on red (the first run: bad)" "with it 52 of 52 tensors, on 2 of 2 ranks"
echo "ok a difference is named"

# A host that flips a bit of one rank: that tensor is named, on that rank.
cat >flipped.toml <<END
$(sed -E "s#= \"(initial|tokens)#= \"$golden/\1#" $golden/golden.toml)
[[inject]]
kind = "bit_flip"
from_step = 1000000
replica = 0
tensor = "wte.weight"
END
must_train 4 flipped.toml run.name=flipped $(layout 1 2 2) checkpoint.interval=10
flipped=runs/flipped/checkpoints/step-000010.h5
# flips RANK TENSOR PART ELEMENT: in step 12; where_of ELEMENT: which rank of the first stage updates it.
flips() { echo "'inject.0.from_step=12' 'inject.0.rank=$1' 'inject.0.tensor=$2' 'inject.0.part=$3' 'inject.0.element=$4' 'inject.0.bit=20'" >fault; }
owner_of() { "$TENAX" inspect $flipped --where "$1[$2]" | grep -B1 "updated.*which the checkpoint has" | grep -oE 'rank [0-9]+' | cut -d' ' -f2; }
replay 0 $flipped --steps 4
for flip in "h.0.attn.c_attn.weight weight 100 0 0" "h.1.ln_2.bias exp_avg 47 1 0" "h.3.mlp.c_fc.weight exp_avg_sq 5000 3 1" "ln_f.weight own_sum 3 null 1"; do
  set -- $flip
  rank=$(owner_of $1 $3)
  flips $rank $1 $2 $3
  replay 1 $flipped --steps 4 --on red,bad --json $stub
  part=$2
  [ $part != own_sum ] || part=gradient
  says "\"step\": 12, \"tensor\": \"$1\", \"part\": \"$part\", \"layer\": $4, \"stage\": $5, \"rank\": $rank, \"host\": \"bad\"" '"differing_tensors": 1,'
done
echo "ok flipped bits are named"

# Runs that fail, say so once.
echo "'data.train=/nowhere.bin'" >fault
replay 1 $small --steps 2 --on red,bad $stub
[ "$(grep -c . err.log)" = 1 ] && grep -q "the second run on bad failed: .*/nowhere.bin" err.log || fail "$(cat err.log)"
replay 1 $small --steps 2 --on red,blue replicas.remote_shell=/no/such/shell
[ "$(grep -c . err.log)" = 1 ] && grep -q "/no/such/shell" err.log || fail "$(cat err.log)"
replay 1 $golden/golden.toml --steps 1
replay 1 none.h5 --steps 1
for wrong in "$small" "$small --steps 0" "$small --steps x" "$small --steps 1 --on red,blue,green" "$small --steps 1 --on -x" \
  "$small --steps 1 --twice" "--steps 1" "$small --steps 1 optimizer.lr=fast" "$small --steps 1 none.key=1"; do
  replay 2 $wrong
  [ "$(grep -c . err.log)" = 1 ] || fail "replay $wrong: $(cat err.log)"
done
echo "ok bad input"

# An interrupt ends both runs, and their processes.
"$TENAX" replay $small --steps 100000 ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} >out.log 2>err.log </dev/null &
replayer=$!
ranks_left() { pgrep -f -- "^$TENAX --replay ${TMPDIR:-/tmp}/.tenax-replay" >/dev/null; }
for _ in $(seq 600); do ranks_left && break; sleep 0.05; done
kill -TERM $replayer
! wait $replayer || fail "an interrupted replay has status 0"
grep -q "stopped before the two runs were compared" err.log || fail "$(cat err.log)"
for _ in $(seq 100); do ranks_left || break; sleep 0.05; done
! ranks_left || fail "ranks are left"
echo "ok interrupted"

"$TENAX" inspect $large --where 'h.3.mlp.c_fc.weight[90:100]' >out.log
host=$(hostname)
says "h.3.mlp.c_fc.weight[90:100] in $large, of a run on 8 ranks:" "  rank 4 on $host: stage 1, tensor 0, data 0" "  rank 5 on $host: stage 1, tensor 1, data 0"
[ "$(grep -c "its passes read \[90:96\]" out.log)" = 2 ] && [ "$(grep -c "its passes read \[96:100\]" out.log)" = 2 ] || fail "$(cat out.log)"
[ "$(grep -c "updated \[.*which the checkpoint has from there" out.log)" = 2 ] || fail "$(cat out.log)"
"$TENAX" inspect $large >out.log
says "outliers            no stretch beyond" "hosts               $host*8"
for wrong in 'h.3.mlp.c_fc.weight[9:8]' '[1]'; do
  status=0
  "$TENAX" inspect $large --where "$wrong" >out.log 2>err.log || status=$?
  [ $status = 2 ] || fail "--where $wrong: status $status"
done
for wrong in 'h.9.mlp.c_fc.weight[1]' 'ln_f.bias[40:50]'; do
  status=0
  "$TENAX" inspect $large --where "$wrong" >out.log 2>err.log || status=$?
  [ $status = 1 ] && [ "$(grep -c . err.log)" = 1 ] || fail "--where $wrong: status $status: $(cat err.log)"
done
echo "ok where"
