# Models go to and fro between tenax and an installed transformers. TENAX_PYTHON: a Python that has it (default: python3).
source "$(dirname "$0")/common.sh"
python=${TENAX_PYTHON:-python3}
"$python" -c 'import torch, safetensors; from transformers import GPT2LMHeadModel' 2>/dev/null ||
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
