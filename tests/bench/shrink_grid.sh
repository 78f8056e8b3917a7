#!/usr/bin/env bash
# What a run learns that lacks replicas for most of its steps (FT-HSDP, section 6.2, in small): 12 replicas of shrink.toml under
# `batch = "shrink"`, 1100 steps. After 100 and 600 of them 1 or 3 are killed, other ones each time, and come back 400 steps later.
# The validation loss at the end is compared with that of an undisturbed run of as many tokens, which has its own cosine to its end.
#
#   bash tests/bench/shrink_grid.sh [--away "1 3"] [--interventions "none linear sqrt"] [--seeds "1 2 3"] [--play] [--seconds S] [--check]
#
# --play: one replica alone does the same arithmetic: its batch is what the others would have left of it, its learning rate what
# they would have had, over five starts of which each goes on from the last one's checkpoint. A third of the time.
# What has been run stays in build/bench/shrink, and is not run again. --seconds: no run begins after so many.
set -u
source "$(dirname "${BASH_SOURCE[0]}")/bench.sh"

away="1 3" interventions="none linear sqrt" seeds="1 2 3" way=struck limit_s=1000000
while [ $# -gt 0 ]; do
  case $1 in
    --check) check=1; shift; continue ;;
    --play) way=played; shift; continue ;;
    --away) away=$2 ;; --interventions) interventions=$2 ;; --seeds) seeds=$2 ;; --seconds) limit_s=$2 ;;
    *) die "unknown option $1 (the head of $0 lists them)" ;;
  esac
  shift 2
done
replicas=12 sequences=2 steps=1100 failures="100 600" failure_steps=400
start_steps=35  # that the others do while one starts
work=$bench_work/shrink
text=(data.train="$work/text/train.txt" data.validation="$work/text/validation.txt")

build() {
  configure
  build_target tenax
}

# launch RUN DECK override…: in the run's folder, beside its log.
launch() {
  local folder=$work/$1 deck=$2
  shift 2
  "$tenax_build/tenax" launch "$deck" "${text[@]}" run.output_dir="$folder/run" "$@" >>"$folder/log" 2>&1 </dev/null ||
    { tail "$folder/log" >&2; die "$folder failed"; }
}

# make_deck RUN AWAY SEED: the deck with its failures, and for each replica that is struck the step from which on it may be back.
make_deck() {
  local victim=$(($3 * 5)) step i
  mkdir -p "$work/$1/returns"
  cp "$bench_folder/shrink.toml" "$work/$1/deck.toml"
  for step in $failures; do
    for ((i = 0; i < $2; ++i)); do
      victim=$(((victim + 1) % replicas))
      printf '\n[[inject]]\nkind = "process"\nreplica = %d\nfrom_step = %d\n' $victim "$step" >>"$work/$1/deck.toml"
      echo $((step + failure_steps - start_steps)) >"$work/$1/returns/replica-$victim"
    done
  done
}

# The repair: an mpirun that starts a replica again only when the run has done so many steps.
make_mpirun() {
  mkdir -p "$work/bin"
  printf '%s\n' '#!/usr/bin/env bash' "mpirun=$(command -v mpirun)" >"$work/bin/mpirun"
  cat >>"$work/bin/mpirun" <<'SH'
directory=$(printf '%s\n' "$@" | sed -n 's|/join$||p')
run=${directory%/*/*} until=0
grep -q '"incarnation": 1\b' "$directory/join" || until=$(cat "$run/returns/${directory##*/}")
done_steps() { tac "$run/run/ledger.jsonl" | grep -m 1 squares | sed 's/.*"step": *\([0-9]*\).*/\1/'; }
while [ "$until" -gt 0 ] && [ "$(done_steps)" -lt "$until" ]; do sleep 0.05; done
exec "$mpirun" "$@"
SH
  chmod +x "$work/bin/mpirun"
}

# struck RUN AWAY INTERVENTION SEED
struck() {
  make_deck "$1" "$2" "$4"
  PATH=$work/bin:$PATH launch "$1" "$work/$1/deck.toml" replicas.lr_intervention="$3" run.seed="$4"
}

# played RUN AWAY INTERVENTION SEED
played() {
  local from=0 until count lr min_lr ends="$steps" step
  for step in $(tac -s ' ' <<<"$failures "); do ends="$step $((step + failure_steps)) $ends"; done
  for until in $ends; do
    count=$replicas
    [[ " $failures " != *" $from "* ]] || count=$((replicas - $2))
    read -r lr min_lr < <(awk -v share="$count/$replicas" -v how="$3" 'BEGIN { split(share, of, "/"); share = of[1] / of[2]
      factor = how == "linear" ? share : how == "sqrt" ? sqrt(share) : 1; printf "%.9g %.9g\n", 3e-3 * factor, 3e-4 * factor }')
    launch "$1" "$bench_folder/shrink.toml" parallel.replicas=1 replicas.batch=keep batch.global_batch_size=$((sequences * count)) \
      optimizer.lr="$lr" optimizer.min_lr="$min_lr" optimizer.lr_decay_steps="$steps" run.train_steps="$until" run.seed="$4"
    from=$until
  done
}

# figures RUN: of its ledger, the whole steps of all replicas that its samples make, and the least and most steps for which those
# that were struck were away.
figures() {
  python3 - "$work/$1" "$replicas" "$sequences" <<'PYTHON'
import json, os, sys
run, replicas, sequences = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
commits = [line for line in map(json.loads, open(f"{run}/run/ledger.jsonl")) if "squares" in line]
missing = {}
if os.path.exists(f"{run}/returns"):
    for line in commits:
        for replica in set(range(replicas)) - {part[0] for part in line["parts"]}:
            missing[replica] = missing.get(replica, 0) + 1
    missing = {replica: steps for replica, steps in missing.items() if steps > 1}  # a step that others stood for may lack one
    if set(missing) != {int(name.split("-")[1]) for name in os.listdir(f"{run}/returns")}:
        sys.exit(f"{run}: others were away than those that were struck: {missing}")
else:
    missing = {0: sum(line["samples"] < replicas * sequences for line in commits) // 2}
print(sum(line["samples"] for line in commits) // (replicas * sequences), min(missing.values()), max(missing.values()))
PYTHON
}

# loss_of RUNDIR: that of the whole validation text.
loss_of() {
  "$tenax_build/tenax" evaluate "$1" --data "$work/text/validation.txt" --json 2>/dev/null | sed -n 's/.*"loss": *\([0-9.]*\).*/\1/p'
}

# quiet STEPS SEED: the undisturbed run of so many steps.
quiet() {
  local name=quiet-$2-$1
  [ -e "$work/$name.loss" ] && return
  ends "shrink/$name" mpirun -n 1 "$tenax_build/tenax" "$bench_folder/shrink.toml" "${text[@]}" parallel.replicas=1 \
    replicas.batch=keep run.train_steps="$1" run.seed="$2"
  loss_of "$work/$name" >"$work/$name.loss"
}

# one AWAY INTERVENTION SEED: its line of results is: AWAY INTERVENTION SEED STEPS LEAST MOST LOSS QUIET_LOSS
one() {
  local name=$way-$1-$2-$3 of_run
  [ ! -e "$work/$name.result" ] && [ $SECONDS -lt "$limit_s" ] || return 0
  rm -rf "${work:?}/$name"
  mkdir -p "$work/$name"
  $way "$name" "$@"
  "$tenax_build/tenax" audit "$work/$name/run" >/dev/null || die "$name: the audit"
  of_run=$(figures "$name") || die "$name"
  quiet "${of_run%% *}" "$3"
  echo "$@" "$of_run" "$(loss_of "$work/$name/run")" "$(cat "$work/quiet-$3-${of_run%% *}.loss")" >"$work/$name.result"
  say "$(cat "$work/$name.result")"
}

results() {
  local count intervention seed
  for count in $away; do
    for intervention in $interventions; do
      for seed in $seeds; do cat "$work/$way-$count-$intervention-$seed.result" || return 1; done
    done
  done
}
# The grid: in per cent how much more the loss is than the undisturbed run's; of each row the worst is judged.
table() {
  awk '
    { key = $1 " " $2; if (!(key in n)) rows[++count] = key
      x = 100 * ($7 / $8 - 1); ++n[key]; sum[key] += x; each[key] = each[key] sprintf(" %+.2f", x)
      if (x < 0) x = -x
      if (x > worst[key]) worst[key] = x }
    END { for (i = 1; i <= count; ++i) { key = rows[i]
      printf "%s mean %+.2f %% of%s, worst %.2f\n", key, sum[key] / n[key], each[key], worst[key] } }'
}

with_build_lock build
export_mpi_environment
mkdir -p "$work"
[ -d "$work/text" ] || bash "$tenax_root/inputs/tinyshakespeare.sh" "$(shakespeare)" "$work/text" >&2 || die "no text"
make_mpirun
for seed in $seeds; do
  for count in $away; do
    for intervention in $interventions; do one "$count" "$intervention" "$seed"; done
  done
done
results >"$work/results" 2>/dev/null || { say "some runs are left: call it again"; exit 0; }
while read -r count intervention rest; do
  echo "$count away, $intervention: $rest"
  meets shrink.off_percent "${rest##* }" "$count away, $intervention"
done < <(table <"$work/results")
end_with_goals
