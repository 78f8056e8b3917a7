# Commands on the checkpoints of runs: any layout's, with the run's own tokenizer; the score is training's own.
source "$(dirname "$0")/common.sh"

# 96 windows of 24 tokens: as many as 12 global batches of validation see.
head -c $((2 * (96 * 24 + 1))) $golden/tokens.bin >validation.bin
overrides="run.train_steps=3 run.eval_interval=3 run.eval_steps=12 data.validation=$PWD/validation.bin"
must_train 1 $golden/golden.toml run.name=one $overrides
must_train 8 $golden/golden.toml run.name=eight $overrides data.tokenizer=bytes $(layout 2 2 2)
for run in one eight; do
  "$TENAX" evaluate runs/$run/checkpoints/step-000003.h5 --data validation.bin --batch 1 --json >$run.json 2>err.log
  [ ! -s err.log ] && [ "$(wc -l <$run.json)" = 1 ] || fail "evaluate --json is not one object alone"
done
number() { sed -n "s/.*\"$1\": \([^,}]*\).*/\1/p" $2; }  # NAME FILE
[ "$(number loss one.json)" = "$(number validation_loss runs/one/metrics.jsonl)" ] ||
  fail "evaluate says $(cat one.json), training $(grep validation runs/one/metrics.jsonl)"
[ "$(number tokens one.json)" = 2304 ] && [ "$(number bits_per_byte one.json)" = null ] || fail "$(cat one.json)"
awk -v a=$(number loss one.json) -v b=$(number loss eight.json) 'BEGIN { exit !((a - b) ^ 2 < 1e-10) }' ||
  fail "the losses of two layouts are apart: $(cat one.json eight.json)"
"$TENAX" evaluate runs/one/checkpoints/step-000003.h5 --data validation.bin --tokenizer bytes --json >bytes.json
[ "$(number bytes bytes.json)" = 2304 ] || fail "$(cat bytes.json)"
evaluate() { "$TENAX" evaluate runs/one/checkpoints/step-000003.h5 "$@" >out.log 2>err.log; }
evaluate --data validation.bin && grep -q 'bits per byte: unknown' out.log || fail "no text: $(cat out.log err.log)"
for threads in 1 3; do
  evaluate --data validation.bin --batch 1 --threads $threads --json
  [ "$(number loss out.log)" = "$(number loss one.json)" ] || fail "another loss by $threads threads: $(cat out.log)"
done
near() { awk -v a=$1 -v b=$2 -v d=$3 'BEGIN { exit !((a - b) ^ 2 < d ^ 2) }'; }
evaluate --data validation.bin --batch 1 --dtype bf16 --json
grep -q '"dtype": "bf16"' out.log && near $(number loss out.log) $(number loss one.json) 0.02 &&
  ! near $(number loss out.log) $(number loss one.json) 1e-7 || fail "not the loss in bf16: $(cat out.log)"
must_train 1 $golden/golden.toml run.name=bf16 $overrides model.compute_dtype=bf16
"$TENAX" evaluate runs/bf16/checkpoints/step-000003.h5 --data validation.bin --batch 1 --dtype bf16 --json >bf16.json
[ "$(number loss bf16.json)" = "$(number validation_loss runs/bf16/metrics.jsonl)" ] ||
  fail "evaluate says $(cat bf16.json), training $(grep validation runs/bf16/metrics.jsonl)"
# A GPU, where there is one, is what both choose; it computes what the CPU does.
if "$TENAX" --version | grep -q stand-in; then
  grep -q '"device": "cuda", "dtype": "fp32"' one.json || fail "not on the GPU: $(cat one.json)"
  evaluate --data validation.bin --batch 1 --device cpu --json
  grep -q '"device": "cpu"' out.log && [ "$(number loss out.log)" = "$(number loss one.json)" ] ||
    fail "the CPU says $(cat out.log), the GPU $(cat one.json)"
  "$TENAX" evaluate runs/bf16/checkpoints/step-000003.h5 --data validation.bin --batch 1 --json | cut -d, -f1-5 |
    cmp - <(cut -d, -f1-5 bf16.json) || fail "a GPU's type is not the run's"
fi
echo "ok evaluate"

refuses() {  # STATUS PATTERN command option…
  local status=$1 pattern=$2 got=0
  shift 2
  "$@" || got=$?
  [ $got = "$status" ] && grep -qE "$pattern" err.log && [ ! -s out.log ] || fail "status $got for $*: $(cat err.log)"
}
refuses 2 'data FILE is missing' evaluate
refuses 2 'batch must be' evaluate --data validation.bin --batch 0
refuses 2 'dtype must be one of fp32, bf16' evaluate --data validation.bin --dtype fp16
refuses 2 'device must be one of auto, cpu, cuda' evaluate --data validation.bin --device gpu
refuses 2 'threads must be' evaluate --data validation.bin --threads 0
refuses 1 'absent.bin' evaluate --data absent.bin
head -c 2 validation.bin >single.bin
refuses 1 'too short: it has one token' evaluate --data single.bin
printf '\001\000\377\000' >beyond.bin
refuses 1 'token 255 at position 1' evaluate --data beyond.bin

generate() { "$TENAX" generate runs/eight/checkpoints/step-000003.h5 "$@" 2>err.log; }  # beyond the window of 24
printf 'Hello!' >prompt.txt
generate --prompt Hello! --tokens 40 --samples 2 --seed 4 >a.txt
grep -q '^80 tokens in .* tokens/s$' err.log || fail "no tokens/s: $(cat err.log)"
generate --prompt-file prompt.txt --tokens 40 --samples 2 --seed 4 | cmp - a.txt || fail "a prompt file is another prompt"
generate --prompt-file - --tokens 40 --samples 2 --seed 4 <prompt.txt | cmp - a.txt || fail "standard input is another prompt"
[ "$(head -c 6 a.txt)" = Hello! ] || fail "the prompt is not shown: $(cat a.txt)"
grep -qax -e --- a.txt || fail "nothing between samples"
generate --prompt Hello! --tokens 40 --samples 2 --seed 5 | cmp -s - a.txt && fail "the seed does not matter"
generate --prompt Hello! --tokens 9 --temperature 0 >greedy.txt
for option in "--top-k 1" "--top-p 0"; do
  generate --prompt Hello! --tokens 9 $option | cmp - greedy.txt || fail "$option is not greedy"
done
for options in "--dtype fp32" "--dtype fp32 --threads 2" "--dtype bf16"; do
  generate --prompt Hello! --tokens 9 --temperature 0 --device cpu $options >other.txt
  grep -qE "^tenax: on cpu.*, [12] threads?, $(cut -d' ' -f2 <<<$options)$" err.log || fail "$options: $(cat err.log)"
  [ "$options" = "--dtype bf16" ] || cmp other.txt greedy.txt || fail "$options changes the text"
done
generate --prompt "$(printf 'x%.0s' $(seq 30))" --tokens 1 >other.txt && grep -q 'sees the last 24' err.log || fail "$(cat err.log)"
silent() { generate "$@" >out.log; }
refuses 2 'empty' silent --prompt ''
refuses 2 'exclude' silent --prompt a --prompt-file prompt.txt
refuses 1 'absent.txt' silent --prompt-file absent.txt
refuses 2 'token 255' silent --prompt "$(printf 'a\377')"
refuses 2 'vocab' silent --prompt a --tokenizer gpt2
refuses 2 'top-p' silent --prompt a --top-p 2
[ -e /dev/nvidia0 ] || [ -n "${TENAX_DEVICE:-}" ] || refuses 1 '^tenax: --device cuda: .*; --device cpu or auto' silent --prompt a --device cuda
unstated() { "$TENAX" generate runs/one/checkpoints/step-000003.h5 --prompt a >out.log 2>err.log; }
refuses 1 'does not say what its 211 tokens stand for: give --tokenizer' unstated
echo "ok generate"

# Tokens have a loss also where the vocabulary that the checkpoint names is not.
must_train 1 $golden/golden.toml run.name=elsewhere run.train_steps=1 data.tokenizer=gpt2 data.vocab_dir=$PWD/nowhere
elsewhere() { "$TENAX" evaluate runs/elsewhere/checkpoints/step-000001.h5 --data validation.bin "$@" >out.log 2>err.log; }
elsewhere --json || fail "no loss without a vocabulary: $(cat err.log)"
[ "$(number tokens out.log)" = 2304 ] && [ "$(number bits_per_byte out.log)" = null ] || fail "$(cat out.log)"
grep -q 'bits per byte stay unknown.*nowhere' err.log || fail "no notice: $(cat err.log)"
refuses 1 'nowhere' elsewhere --vocab nowhere
must_train 1 $golden/golden.toml run.name=unplaced run.train_steps=1 data.tokenizer=gpt2
"$TENAX" evaluate runs/unplaced/checkpoints/step-000001.h5 --data validation.bin >out.log 2>err.log
grep -q 'encoder.json and vocab.bpe are in no folder that is known' err.log || fail "no notice: $(cat err.log)"
echo "ok evaluate without a vocabulary"

# GPT-2's tokens, where its vocabulary is.
vocab=$TENAX_SOURCE/../shared/data/gpt2
[ -e $vocab/vocab.bpe ] || skips "GPT-2's tokens: no $vocab"
for i in $(seq 60); do printf 'some naïve €uros 😀 are here again<|endoftext|>'; done >long.txt
must_train 1 $golden/golden.toml run.name=gpt2 run.train_steps=60 model.init_weights= model.vocab_size=50257 \
  data.train=$PWD/long.txt data.tokenizer=gpt2 data.vocab_dir=$vocab optimizer.lr=1e-2
ckpt=runs/gpt2/checkpoints/step-000060.h5
"$TENAX" evaluate $ckpt --data long.txt --json >gpt2.json
"$TENAX" tokenize long.txt --tokenizer gpt2 --vocab $vocab --out long.h5 >/dev/null
"$TENAX" evaluate $ckpt --data long.h5 --json >gpt2-h5.json
[ "$(number loss gpt2.json)" = "$(number loss gpt2-h5.json)" ] && [ "$(number bytes gpt2.json)" = "$(number bytes gpt2-h5.json)" ] ||
  fail "text and token file score differently: $(cat gpt2.json gpt2-h5.json)"
[ "$(number bytes gpt2.json)" = $(($(stat -c %s long.txt) - 4)) ] || fail "not the bytes after the first token, 'some': $(cat gpt2.json)"
"$TENAX" generate $ckpt --prompt "some naïve" --tokens 60 --temperature 0 >gpt2.txt 2>err.log
[ "$(cat gpt2.txt)" = "some naïve €uros 😀 are here again" ] || fail "not one document: $(cat gpt2.txt)"
"$TENAX" generate $ckpt --tokens 60 --temperature 0 2>err.log | cmp - <(echo "some naïve €uros 😀 are here again") ||
  fail "a document does not begin without a prompt"
echo "ok GPT-2's tokens"
