#!/usr/bin/env bash
# Hosts that flip bits now and then, found by `tenax replay`. A stub of a remote shell plays all hosts on this machine; what it starts
# on a faulty one flips, in nine of ten runs, one bit of a weight, a moment or a gradient in one of the steps. Three times all hosts
# that nobody accuses are paired anew; hosts of pairs that differ are tried alone, twice the same steps, up to three times. Named
# must be the faulty ones, and no other.
#
#   bash tests/soak/replay.sh [HOSTS=40] [FAULTY=7] [STEPS=4] [SEED=1]
source "$(dirname "$0")/common.sh"
hosts=${1:-40} faulty=${2:-7} steps=${3:-4} seed=${4:-1}
enter_work replay
cat >>soak.toml <<'END'
[[inject]]  # nowhere, until a faulty host says where
kind = "bit_flip"
from_step = 1000000
replica = 0
tensor = "wte.weight"
END
must_train 1 soak.toml run.name=run run.train_steps=20 optimizer.lr_decay_steps=400 run.eval_interval=0 checkpoint.interval=20
checkpoint=$work/runs/run/checkpoints/step-000020.h5

RANDOM=$seed
mapfile -t names < <(seq -f 'host%02.0f' "$hosts")
shuffled() { printf '%s\n' "$@" | shuf --random-source=<(yes "$seed.$((++shuffles))"); }
shuffles=0
mapfile -t bad < <(shuffled "${names[@]}" | head -n "$faulty" | sort)
printf '%s\n' "${bad[@]}" >bad
mkdir calls flips

cat >shell <<END
#!/usr/bin/env bash
cd "$work"
host=\$1 line=\$2 words=
echo >>calls/\$host
RANDOM=\$(($seed * 7919 + 10#\${host#host} * 211 + \$(wc -l <calls/\$host)))
: \$RANDOM \$RANDOM
if grep -qx "\$host" bad && [ \$((RANDOM % 10)) != 0 ]; then
  tensors=(wte.weight h.0.attn.c_attn.weight h.1.mlp.c_fc.weight h.2.ln_1.weight h.3.mlp.c_proj.bias ln_f.weight)
  parts=(weight exp_avg exp_avg_sq own_sum)
  for word in from_step=\$((20 + RANDOM % $steps)) tensor=\${tensors[RANDOM % 6]} part=\${parts[RANDOM % 4]} element=\$((RANDOM % 64)) \
    bit=\$((RANDOM % 32)); do words+=" 'inject.0.\$word'"; done
  echo "\$words" >>flips/\$host
fi
exec sh -c "\$line\$words"
END
chmod +x shell

# differs HOST[,HOST]: whether the two runs do.
differs() {
  local status=0
  "$TENAX" replay "$checkpoint" --steps "$steps" --on "$1" "replicas.remote_shell=$work/shell" >replay.out 2>replay.err || status=$?
  [ ! -s replay.err ] || failed "$1: $(cat replay.err)"
  tally "replays"
  [ $status = 1 ]
}

declare -A accused
for round in 1 2 3; do
  mapfile -t order < <(for name in "${names[@]}"; do [ -n "${accused[$name]:-}" ] || echo "$name"; done)
  mapfile -t order < <(shuffled "${order[@]}")
  for ((i = 0; i + 1 < ${#order[@]}; i += 2)); do
    differs "${order[i]},${order[i + 1]}" || continue
    for name in "${order[i]}" "${order[i + 1]}"; do
      for try in 1 2 3; do
        differs "$name" || continue
        accused[$name]=$(head -n 1 replay.out)
        echo "$name: ${accused[$name]}"
        break
      done
    done
  done
  echo "after round $round: ${#accused[@]} of $hosts hosts are named"
done
named=$(printf '%s\n' "${!accused[@]}" | sort | xargs)
[ "$named" = "${bad[*]}" ] || failed "named are $named, but faulty are ${bad[*]}"
nothing_left || failed "something is left"
finish "$hosts hosts, $(cat flips/* | wc -l) runs with a flipped bit on ${#bad[@]} of them: named are $named"
