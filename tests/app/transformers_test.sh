# Models go to and fro between tenax and an installed transformers. TENAX_PYTHON: a Python that has it (default: python3).
source "$(dirname "$0")/common.sh"
python=${TENAX_PYTHON:-python3}
"$python" -c 'import torch, safetensors; from transformers import AutoTokenizer, GPT2LMHeadModel, pipeline' 2>/dev/null ||
  { echo "skipped: $python has no transformers with torch and safetensors (TENAX_PYTHON names another)"; exit 77; }
compare() { "$python" -B "$TENAX_SOURCE/tests/app/hugging_face/compare.py" "$@" || fail "compare.py $*"; }

for type in float32:F32 float16:F16 bfloat16:BF16; do
  saved=saved-${type%:*} back=back-${type#*:} dtype=${type#*:}
  mkdir -p $back
  tokens=$(compare make $saved ${type%:*})
  "$TENAX" import $saved/model.safetensors --out $dtype.h5
  "$LOGITS_OF" $dtype.h5 $tokens >$dtype.logits
  compare logits $saved $dtype.logits
  # ... and what tenax exports is a folder that transformers loads.
  "$TENAX" export $dtype.h5 --out $back/model.safetensors --dtype $dtype
  compare logits $back $dtype.logits
done
"$TENAX" generate F32.h5 --prompt The --tokens 37 --temperature 0 >greedy.txt
compare greedy saved-float32 greedy.txt

echo "parts are a model too, and nobody knows the tokens of one that was imported"
mkdir parts
"$TENAX" export F32.h5 --out parts/model.safetensors --shard-size 50000 2>err.log
compare logits parts F32.logits
[ ! -e parts/vocab.json ] || fail "a tokenizer for a model whose tokens nobody knows"
"$TENAX" import parts --out again.h5
"$LOGITS_OF" again.h5 $tokens | cmp - F32.logits || fail "parts have other logits"

echo "the folder of a trained model is enough for AutoTokenizer and pipeline()"
seq 1 3000 | sed "s/7/ then the thing, don't \xc3\xa9\xf0\x9f\x99\x82  /" >text.txt
cat >deck.toml <<'EOF'
[run]
train_steps = 2
[model]
num_layers = 2
hidden_size = 16
num_attention_heads = 2
seq_length = 32
vocab_size = 256
[data]
train = "text.txt"
[batch]
global_batch_size = 2
[optimizer]
lr = 1e-2
EOF
exported() {  # NAME OVERRIDES…: trains, exports, compares
  local name=$1
  shift
  must_train 1 deck.toml run.name=$name "$@"
  mkdir $name
  "$TENAX" export runs/$name/checkpoints/step-000002.h5 --out $name/model.safetensors
  compare tokens $name text.txt
  "$TENAX" generate runs/$name/checkpoints/step-000002.h5 --prompt The --tokens 17 --temperature 0 >greedy.txt 2>err.log
  compare pipeline $name greedy.txt
}
"$TENAX" tokenize text.txt --out text.txt.bin
exported bytes
vocabulary=$TENAX_SOURCE/../shared/data/gpt2
if [ -e "$vocabulary/encoder.json" ]; then
  "$TENAX" tokenize text.txt --out text.txt.bin --tokenizer gpt2 --vocab "$vocabulary"
  exported gpt2 model.vocab_size=50257 data.tokenizer=gpt2 "data.vocab_dir=$vocabulary"
fi
