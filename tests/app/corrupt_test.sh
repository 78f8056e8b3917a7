# Bits that turn in one of 2, 3 or 4 replicas: the right place is named, and no other; all replicas are equal afterwards, and
# each sample counts once.
source "$(dirname "$0")/launch.sh"
steps=40
usual="run.train_steps=$steps optimizer.adam_eps=1e-4 optimizer.lr_decay_steps=$steps checkpoint.interval=5 checkpoint.keep=0
  replicas.heartbeat_ms=20 replicas.dead_ms=3000 replicas.digest_steps=6"

of() { grep -c "$2" runs/$1/events.jsonl || true; }  # NAME WHAT
# same_state NAME REPLICAS: the weights are those of the quiet run.
same_state() {
  "$TENAX" export runs/$1 --out $1.safetensors >$1.export 2>&1 || fail "export of $1: $(cat $1.export)"
  claim weights $1.safetensors quiet-$2.safetensors 1e-5
}
quiet() {  # REPLICAS override…
  local replicas=$1
  shift
  audited_launch quiet-$replicas "" parallel.replicas=$replicas "$@"
  [ "$(of quiet-$replicas '"event": "corrupt"')" = 0 ] || fail "a sound run has corrupt replicas: $(cat runs/quiet-$replicas/events.jsonl)"
  [ "$(grep -c '"digest"' runs/quiet-$replicas/ledger.jsonl)" = $steps ] || fail "commits without digests"
  "$TENAX" export runs/quiet-$replicas --out quiet-$replicas.safetensors >quiet.export 2>&1 || fail "$(cat quiet.export)"
}
# flip NAME REPLICAS REPLICA RANK PART TENSOR KEYS override…: in step 12.
flip() {
  local name=$1 replicas=$2 replica=$3 rank=$4 part=$5 tensor=$6 keys=$7
  shift 7
  audited_launch $name "kind = \"bit_flip\"; from_step = 12; replica = $replica; rank = $rank; part = \"$part\"; tensor = \"$tensor\"$keys" \
    parallel.replicas=$replicas "$@"
  ls runs/$name/replica-$replica/inject-0.rank-$rank >/dev/null || fail "$name: no bit has turned"
  [ "$(of $name '"event": "corrupt"')" = 1 ] || fail "$name: not one event: $(grep -E 'corrupt|lost' runs/$name/events.jsonl)"
}
# named NAME REPLICA RANK PART TENSOR BY: it alone is lost, soon.
named() {
  local event
  event=$(grep '"event": "corrupt"' runs/$1/events.jsonl)
  for what in "\"replica\": $2," "\"rank\": $3," "\"part\": \"$4\"" "\"tensor\": \"$5\"" "\"by\": \"$6\"" '"host": "..*"'; do
    grep -q "$what" <<<"$event" || fail "$1: no $what in $event"
  done
  [ "$(of $1 '"event": "replica_lost"')" = 1 ] || fail "$1: $(grep replica_lost runs/$1/events.jsonl)"
  [ "$(of $1 "\"replica_lost\", \"replica\": $2.*\"reason\": \"corrupt\"")" = 1 ] || fail "$1: $(grep replica_lost runs/$1/events.jsonl)"
  local commits
  commits=$(grep -o '"commits": [0-9]*' <<<"$event" | grep -o '[0-9]*$')
  [ "$commits" -le 20 ] || fail "$1: found after $commits commits"
  echo "ok $1: $(grep -o '"rank.*' <<<"$event")"
}

# refused WHAT KEYS: status 2, and a message.
refused() {
  local status=0
  printf '\n[[inject]]\nkind = "bit_flip"\nreplica = 0\nrank = 0\n%b\n' "$2" | cat $golden/golden.toml - >refused.toml
  "$TENAX" launch refused.toml parallel.replicas=2 >refused.out 2>refused.err || status=$?
  [ $status = 2 ] && grep -q "$1" refused.err && [ ! -e runs/golden ] || fail "status $status: $(cat refused.err)"
}
refused 'inject.0.tensor = "wte" is no parameter' 'tensor = "wte"'
refused 'inject.0.element = 48 is outside of ln_f.bias: it has 48 elements' 'tensor = "ln_f.bias"\nelement = 48'

usual3="replicas.min_replicas=3"
quiet 3
flip weight 3 1 0 weight h.1.attn.c_attn.weight "; bit = 20" $usual3
named weight 1 0 weight h.1.attn.c_attn.weight digest
flip first 3 0 0 exp_avg ln_f.bias "; element = 5; bit = 25" $usual3
named first 0 0 exp_avg ln_f.bias digest
flip sum 3 2 0 sum h.0.mlp.c_fc.weight "; element = 77; bit = 28" $usual3
named sum 2 0 sum h.0.mlp.c_fc.weight squares
flip own 3 1 0 own_sum h.2.mlp.c_proj.weight "; element = 9; bit = 30" $usual3
named own 1 0 own_sum h.2.mlp.c_proj.weight norm
same_state own 3
# Of so many elements some were between 1 and 2: with the highest bit of their exponents they are not finite.
lines='kind = "bit_flip"; from_step = 12; replica = 1; rank = 0; part = "own_sum"; tensor = "ln_f.bias"; bit = 30; element = 0'
for element in $(seq 1 31); do lines="$lines\n[[inject]]; ${lines%%; element*}; element = $element"; done
audited_launch infinite "$lines" parallel.replicas=3 $usual3
named infinite 1 0 own_sum ln_f.bias non_finite
same_state infinite 3

# Data-parallel ranks, and nobody to say which of two is right: both go back, and train as if nothing had been.
ranks="$(layout 1 1 2) replicas.min_replicas=2"
quiet 2 $ranks
flip two 2 1 1 exp_avg_sq wte.weight "; bit = 27" $ranks
event=$(grep '"event": "corrupt"' runs/two/events.jsonl)
for what in '"rank": 1,' '"tensor": "wte.weight"' '"part": "exp_avg_sq"' '"by": "digest"' '"replicas": \[0, 1\]'; do
  grep -q "$what" <<<"$event" || fail "two: no $what in $event"
done
grep -q '"replica": ' <<<"$event" && fail "two: a replica is named: $event"
[ "$(of two 'replica_lost.*"corrupt"')" = 2 ] || fail "two: $(grep replica_lost runs/two/events.jsonl)"
[ "$(grep -c void_from runs/two/ledger.jsonl)" = 1 ] || fail "two: no step is void"
void=$(grep -o '"void_from": [0-9]*' runs/two/ledger.jsonl | grep -o '[0-9]*$')
[ "$void" -le 12 ] || fail "two: they go back to $void, when they differed"
same_state two 2
echo "ok two: back to $void: $(grep -o '"rank.*' <<<"$event")"

quiet 4
flip four 4 3 0 exp_avg h.3.ln_2.weight "; bit = 22" replicas.min_replicas=4
named four 3 0 exp_avg h.3.ln_2.weight digest
