# tenax tokenize: files in and out, as a user calls it; training on what it wrote.
. "$TENAX_SOURCE/tests/app/common.sh"

vocabulary=$TENAX_SOURCE/../shared/data/gpt2

# A vocabulary of bytes and " th", " the": encoder.json and vocab.bpe in GPT-2's spelling.
small_vocabulary() {
  mkdir -p vocab
  awk 'BEGIN {
    other = 256
    for (b = 0; b < 256; ++b) {
      printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174
      printf "%s\"\\u%04x\": %d", b ? ", " : "{", printable ? b : other++, b
    }
    print ", \"th\": 256, \"\\u0120th\": 257, \"\\u0120the\": 258, \"<|endoftext|>\": 259}"
  }' >vocab/encoder.json
  printf '#version: 0.2\nt h\n\304\240 th\n\304\240th e\n' >vocab/vocab.bpe
}

tokenize() { "$TENAX" tokenize "$@" >out.log 2>err.log || { cat err.log >&2; fail "tokenize $*"; }; }
refuses() {  # STATUS TEXT ARGUMENTS…: fails with this status and says this, once, and leaves no file
  local status=$1 text=$2 got=0
  shift 2
  ls -A >before.list
  "$TENAX" tokenize "$@" >out.log 2>err.log || got=$?
  [ "$got" = "$status" ] || fail "tokenize $*: status $got, not $status"
  [ "$(grep -c . err.log)" = 1 ] || fail "tokenize $*: not one line: $(cat err.log)"
  grep -qF -- "$text" err.log || fail "tokenize $*: '$(cat err.log)' does not say '$text'"
  ls -A | cmp -s - before.list || fail "tokenize $* left a file"
}
same() { cmp "$1" "$2" || fail "$1 and $2 differ"; }

hasten_failures
touch out.log err.log before.list
small_vocabulary
gpt2="--tokenizer gpt2 --vocab vocab"
seq 1 20000 | sed 's/7/ then the thing/g' >one.txt
printf 'no UTF-8: \377\300\200 \360\237\n\n  end ' >two.txt
head -c 300000 /dev/urandom >three.txt

echo "every byte comes back, from .h5 without a word about the tokenizer"
for text in one two three; do
  for options in "$gpt2" "--tokenizer bytes" ""; do
    tokenize $text.txt --out $text.h5 $options
    tokenize --decode $text.h5 --out back.txt
    same back.txt $text.txt
    tokenize $text.txt --out $text.bin $options --threads 1
    tokenize --decode $text.bin --out back.txt $options
    same back.txt $text.txt
  done
done

echo "several files and a pattern in quotes are documents with a separator between them"
tokenize two.txt one.txt --out all.h5 $gpt2
grep -q "in 2 documents" out.log || fail "not 2 documents: $(cat out.log)"
tokenize --decode all.h5 --out back.txt
{ cat two.txt; printf '<|endoftext|>'; cat one.txt; } >joined.txt
same back.txt joined.txt
tokenize '{one,two}.t?t' --out all.h5 $gpt2
grep -q "in 2 documents" out.log || fail "not 2 documents: $(cat out.log)"
cp all.h5 again.h5
tokenize one.txt two.txt --out again.h5 $gpt2 --threads 3
same all.h5 again.h5

echo "a token file says what it is"
"$TENAX" inspect again.h5 >out.log
for part in "tokenizer *gpt2" "documents *2" "texts *one.txt" verified; do
  grep -q "$part" out.log || fail "inspect does not say '$part': $(cat out.log)"
done

echo "a pipe is a text"
tokenize <(cat one.txt) --out piped.bin $gpt2
tokenize one.txt --out whole.bin $gpt2
same piped.bin whole.bin

echo "a text goes to where a link leads, and into what is no file"
ln -s /dev/stdout standard-output
"$TENAX" tokenize --decode one.h5 --out standard-output >through.txt 2>through.err
same through.txt one.txt
grep -q "standard-output: $(stat -c %s one.txt) bytes" through.err || fail "no word of it: $(cat through.err)"
[ -L standard-output ] || fail "standard output was replaced"

echo "what cannot be done is said, and leaves nothing"
refuses 2 "its name must end in .h5" one.txt --out out.csv
refuses 2 "--out FILE is missing" one.txt
refuses 2 "no text is given" --out x.h5
refuses 2 "unknown tokenizer gpt3" one.txt --out x.h5 --tokenizer gpt3
refuses 2 "needs the folder" one.txt --out x.h5 --tokenizer gpt2
refuses 1 "encoder.json: cannot read it" one.txt --out x.h5 --tokenizer gpt2 --vocab nowhere
refuses 1 "no file matches *.none" '*.none' --out x.h5
refuses 1 "cannot read absent.txt: No such file" absent.txt --out x.h5
: >empty.txt
refuses 1 "nothing to tokenize" empty.txt --out x.h5
refuses 1 "it is a pipe, a socket or a device" /dev/zero --out x.h5
refuses 1 "is not one of the 256" --decode whole.bin --out x.txt
refuses 2 "holds its own vocabulary" --decode all.h5 --out x.txt $gpt2
echo no HDF5 >broken.h5
refuses 1 "it is not a whole HDF5 file" --decode broken.h5 --out x.txt

echo "a signal ends it, and leaves nothing"
for i in $(seq 300); do cat one.txt; done >long.txt
mkdir stopped
status=0
timeout -s TERM 0.3 "$TENAX" tokenize long.txt --out stopped/long.h5 $gpt2 >out.log 2>err.log || status=$?
[ -z "$(ls -A stopped)" ] || [ "$(ls -A stopped)" = long.h5 ] || fail "left behind: $(ls -A stopped)"
[ ! -s err.log ] || grep -q "interrupted; nothing was written" err.log || fail "stopped: $(cat err.log)"

echo "training reads text by gpt2, .bin and .h5 alike, and a blend the same in every layout"
cat >deck.toml <<'EOF'
[run]
train_steps = 3
eval_interval = 3
eval_steps = 1
[model]
num_layers = 2
hidden_size = 32
num_attention_heads = 4
seq_length = 16
vocab_size = 260
[data]
train = "one.txt"
tokenizer = "gpt2"
vocab_dir = "vocab"
[batch]
global_batch_size = 4
[optimizer]
lr = 1e-3
EOF
tokenize one.txt --out one.h5 $gpt2
tokenize one.txt --out one.bin $gpt2
tokenize two.txt three.txt --out more.h5 $gpt2
must_train 1 deck.toml run.name=text
must_train 1 deck.toml run.name=h5 data.train=one.h5
must_train 1 deck.toml run.name=bin data.train=one.bin
for kind in h5 bin; do claim same runs/text/metrics.jsonl runs/$kind/metrics.jsonl; done
must_train 2 deck.toml run.name=text-by-two parallel.data_parallel_size=2
must_train 2 deck.toml run.name=h5-by-two data.train=one.h5 parallel.data_parallel_size=2
claim same runs/text-by-two/metrics.jsonl runs/h5-by-two/metrics.jsonl
blend='data.train=[{file = "one.bin", weight = 3}, {file = "more.h5", weight = 1}]'
must_train 1 deck.toml run.name=blend "$blend" "data.validation=more.h5"
must_train 2 deck.toml run.name=halves "$blend" "data.validation=more.h5" parallel.data_parallel_size=2
claim close runs/blend/metrics.jsonl runs/halves/metrics.jsonl 1e-5
! "$RUN_CHECK" close runs/text/metrics.jsonl runs/blend/metrics.jsonl 1e-5 2>/dev/null || fail "a blend trains as its first file"
must_train 1 deck.toml run.name=stopped "$blend" run.train_steps=2 optimizer.lr_decay_steps=3
must_train 1 deck.toml run.name=stopped "$blend" optimizer.lr_decay_steps=3
claim same runs/blend/metrics.jsonl runs/stopped/metrics.jsonl

echo "a set of many files trains as its files one after the other, however it is named and whoever wrote it"
mkdir shards raw llmc megatron
tokenize one.txt three.txt --out shards/t.h5 $gpt2 --shard-tokens 20000
grep -q "t-00000.h5 to t-000" out.log || fail "no shards: $(cat out.log)"
for shard in shards/*.h5; do tokenize --decode $shard --out part.txt; cat part.txt; done >back.txt
{ cat one.txt; printf '<|endoftext|>'; cat three.txt; } >joined.txt
same back.txt joined.txt
refuses 1 "remove the old set of files first" one.txt --out shards/t.h5 --shard-tokens 20000
tokenize one.txt three.txt --out raw/t.bin $gpt2 --shard-tokens 20000
little_endian() { local i; for ((i = 0; i < $1; ++i)); do printf "\\x$(printf %02x $((($2 >> 8 * i) & 255)))"; done; }  # BYTES NUMBER
for bin in raw/*.bin; do
  tokens=$(($(stat -c %s $bin) / 2)) name=$(basename $bin .bin)
  { little_endian 4 20240520; little_endian 4 1; little_endian 4 $tokens; head -c 1012 /dev/zero; cat $bin; } >llmc/$name.bin
  cp $bin megatron
  { printf 'MMIDIDX\0\0'; little_endian 8 1; little_endian 1 8; little_endian 8 1; little_endian 8 2
    little_endian 4 $tokens; little_endian 8 0; little_endian 8 0; little_endian 8 1; } >megatron/$name.idx
done
must_train 1 deck.toml run.name=shards data.train=shards
must_train 1 deck.toml run.name=pattern 'data.train=llmc/t-*.bin'
must_train 2 deck.toml run.name=megatron data.train=megatron/ parallel.data_parallel_size=2
must_train 2 deck.toml run.name=shards-by-two data.train=shards parallel.data_parallel_size=2
claim same runs/shards/metrics.jsonl runs/pattern/metrics.jsonl
claim same runs/shards-by-two/metrics.jsonl runs/megatron/metrics.jsonl
must_train 1 deck.toml run.name=list "data.train=[llmc/t-00000.bin, one.bin]" data.validation=llmc
for i in $(seq 1 200); do little_endian 4 $i; done >int32.bin
status=0; train 1 deck.toml run.name=int32 data.train=int32.bin || status=$?
[ $status = 1 ] && grep -q "its tokens are int32" err.log || fail "int32 tokens alone: status $status, $(cat err.log)"
"$TENAX" inspect megatron/t-00000.idx >out.log
grep -q "documents  *1$" out.log || fail "inspect of an index: $(cat out.log)"

echo "tokens of another tokenizer are refused, and where nothing is stated the files say"
not_trained() {  # TEXT OVERRIDES…
  local text=$1 status=0
  shift
  train 1 deck.toml run.name=refused "$@" || status=$?
  [ $status = 1 ] && grep -qF -- "$text" err.log || fail "$*: status $status, $(cat err.log)"
  [ ! -e runs/refused ] || fail "$*: left a run directory"
}
tokenize one.txt --out bytes.h5
not_trained "data.tokenizer and $PWD/bytes.h5 do not go together" data.train=bytes.h5
not_trained "one.h5 and $PWD/bytes.h5 do not go together" data.tokenizer= data.train=one.h5 data.validation=bytes.h5
must_train 1 deck.toml run.name=unstated data.tokenizer= data.train=one.h5
grep -q '^tokenizer = "gpt2"' runs/unstated/deck.toml || fail "unstated: $(grep tokenizer runs/unstated/deck.toml)"
claim same runs/h5/metrics.jsonl runs/unstated/metrics.jsonl
cp -r runs/unstated runs/refused
status=0; train 1 deck.toml run.name=refused run.train_steps=4 data.tokenizer=bytes data.train=bytes.h5 || status=$?
[ $status = 1 ] && grep -q "do not go together" err.log || fail "resume by another tokenizer: $status, $(cat err.log)"
trained=runs/unstated/checkpoints/step-000003.h5
fails() {  # TEXT COMMAND…: status 1
  local text=$1 status=0
  shift
  "$TENAX" "$@" >out.log 2>err.log || status=$?
  [ $status = 1 ] && grep -qF -- "$text" err.log || fail "$*: status $status, $(cat err.log)"
}
fails "$trained and bytes.h5 do not go together" evaluate $trained --data bytes.h5
"$TENAX" evaluate $trained --data one.h5 >out.log
"$TENAX" generate $trained --tokens 3 --temperature 0 >out.log 2>err.log

echo "an exported model comes back, in parts too, and starts a run; what its tokens are has to be said then"
mkdir hf
"$TENAX" export $trained --out hf/model.safetensors --shard-size 20000
ls hf/model-00001-of-0000?.safetensors hf/vocab.json hf/merges.txt hf/generation_config.json >out.log
"$TENAX" import hf --out imported.h5 >out.log
for command in "generate imported.h5" "evaluate imported.h5 --data one.txt"; do
  fails "does not say what its 260 tokens stand for: give --tokenizer gpt2 --vocab DIR" $command
done
"$TENAX" evaluate imported.h5 --data one.h5 >out.log
must_train 1 deck.toml run.name=from-parts model.init_weights=hf
must_train 1 deck.toml run.name=from-checkpoint model.init_weights=$trained
claim same runs/from-parts/metrics.jsonl runs/from-checkpoint/metrics.jsonl
must_train 2 deck.toml run.name=from-two model.init_weights=$trained parallel.tensor_parallel_size=2
claim close runs/from-parts/metrics.jsonl runs/from-two/metrics.jsonl 1e-5

if [ -e "$vocabulary/encoder.json" ]; then
  echo "the tokens are OpenAI's"
  python3 "$TENAX_SOURCE/tests/app/tokenize_reference.py" "$TENAX" "$vocabulary" 2000 || [ $? = 77 ] || fail "tokens differ"
fi
