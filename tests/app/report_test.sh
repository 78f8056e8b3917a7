# What users see of a run: the page of pictures, in a browser where there is one, the profiled step as CSV, TensorBoard's files.
source "$(dirname "$0")/common.sh"
deck=$TENAX_SOURCE/inputs/pipemorph/7b.toml
tenax() { timeout 60 "$TENAX" "$@"; }

must_train 4 $deck run.name=slow run.train_steps=4 run.tensorboard=true
must_train 1 $golden/golden.toml run.name=golden run.output_dir=runs/learnt data.validation=$golden/tokens.bin run.eval_interval=5 run.eval_steps=1
must_train 4 $deck run.name=healthy run.train_steps=3 inject.0.delay_ms=0 pipeline.schedule=1f1b

tenax trace runs/slow --csv >ops.csv
[ "$(head -n 1 ops.csv)" = "step,stage,dp_rank,tp_rank,optype,microbatch,start_us,duration_us" ] || fail "the header"
count() { grep -c "^3,$1,0,0,$2,[0-9]*,[0-9.]*,[0-9.]*$" ops.csv || true; }
for stage in 0 1 2 3; do
  for optype in forward-compute backward-compute backward-weight-compute; do
    [ "$(count $stage $optype)" = 12 ] || fail "stage $stage has $(count $stage $optype) rows of $optype, not 12"
  done
done
[ "$(count 0 forward-recv)" = 0 ] && [ "$(count 1 forward-recv)" = 12 ] && [ "$(count 0 forward-send)" = 12 ] &&
  [ "$(count 3 backward-send)" = 12 ] && [ "$(count 3 backward-recv)" = 0 ] || fail "rows of transfers"
status=0
tenax trace runs/slow 2>/dev/null || status=$?
[ $status = 2 ] || fail "trace without a format: status $status"
claim trace runs/slow/trace.json 72     # 12 microbatches over three links, both ways
claim trace runs/healthy/trace.json 72
mkdir -p runs/given_up/replica-0 runs/given_up/replica-1
cp runs/slow/trace.json runs/given_up/replica-1/
tenax trace runs/given_up --csv | cmp - ops.csv || fail "the trace of replica 1"
echo "ok trace"

[ "$(ls runs/slow/tensorboard | grep -c '^events.out.tfevents.')" = 1 ] || fail "TensorBoard's file"
[ ! -e runs/healthy/tensorboard ] || fail "TensorBoard's file was not asked for"
echo "ok tensorboard"

[ "$(tenax report runs/slow)" = runs/slow/report.html ] || fail "where the page is"
tenax report runs/slow runs/healthy --out both.html >/dev/null
cp -r runs/learnt other
tenax report runs/learnt >/dev/null
tenax report runs/learnt other --out twice.html >/dev/null
status=0
tenax report "$PWD" 2>no-run.log || status=$?
[ $status = 1 ] && grep -q "is not a run directory" no-run.log || fail "a report of no run: status $status"
echo "ok report"

browser=
for name in chromium chromium-headless-shell chromium-browser google-chrome; do
  [ -n "$browser" ] || browser=$(command -v $name || true)
done
[ -n "$browser" ] || skips "there is no Chromium to open the page in"
# The page as it is once its script has run.
dom() {
  timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/profile" --dump-dom "file://$PWD/$1" \
    >dom.html 2>browser.log || { cat browser.log >&2; fail "the browser on $1"; }
}
has() { [ "$(grep -o "$1" dom.html | wc -l)" -ge "$2" ] || fail "$1 is not $2 times in the page"; }
dom runs/slow/report.html
for chart in chart-tokens chart-step-time chart-events; do has "<figure class=\"chart[a-z ]*\" id=\"$chart\">" 1; done
has 'class="curve"' 1
has '<circle ' 3                       # events
has 'data-chart="gantt-measured"' 1
has 'data-chart="gantt-planned"' 1
has 'class="F"' 96
has 'aria-label="Tokens per second' 1
has '<pre class="deck"' 1
# Keys move the read-out.
sed 's|</body>|<script>const at = document.querySelector("#chart-tokens svg"); at.focus(); for (const key of ["Home", "ArrowRight"])\
  at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));</script></body>|' runs/slow/report.html >keys.html
dom keys.html
has '<output[^>]*>step 1: [0-9.]*</output>' 1
dom both.html
has 'class="curve"' 2
has '<output[^>]*>step 3: slow [0-9.]*</output>' 1     # the other run ended before
has 'id="show-1"' 1                    # a box to hide a run
has '<th scope="row">pipeline.schedule</th>' 1
# A run with losses: every curve is there, and validation has its own line and points.
dom runs/learnt/report.html
for chart in chart-loss chart-lr chart-grad-norm chart-tokens chart-flops; do has "<figure class=\"chart[a-z ]*\" id=\"$chart\">" 1; done
has 'aria-label="Loss. training from [0-9.]* to [0-9.]*. validation from [0-9.]* to [0-9.]*.' 1
has 'class="curve score"' 1
has '<circle class="score"' 4
has 'class="curve"' 5
dom twice.html
has '<title>tenax: golden (learnt), golden (other)</title>' 1
has 'golden (other) validation [0-9.]*' 1
# Controls: tokens across, logarithmic, smoothed.
sed 's|</body>|<script>const set = (id, property, value) => { const e = document.getElementById(id); e[property] = value;\
  e.dispatchEvent(new Event("input", { bubbles: true })); }; set("view-x", "value", "tokens"); set("view-log-x", "checked", true);\
  set("view-smoothing", "value", "0.5");</script></body>|' runs/learnt/report.html >controls.html
dom controls.html
has '>tokens</text>' 3
has 'class="curve raw"' 3
has 'smoothed [0-9.]*' 3
# All runs hidden, or all steps without a place on a logarithmic axis: charts stay, and the page answers.
sed 's|</body>|<script>document.getElementById("show-0").click(); document.getElementById("show-1").click();\
  const log = document.getElementById("view-log-x"); log.checked = true; log.dispatchEvent(new Event("input", { bubbles: true }));\
  document.body.dataset.answers = "yes";</script></body>|' twice.html >hidden.html
dom hidden.html
has 'data-answers="yes"' 1
# The pointer on an event: what, where and when.
sed 's|</body>|<script>const dots = document.querySelectorAll("#chart-events circle:not(.ring)"), svg = document.querySelector("#chart-events svg");\
  for (const dot of dots) { const box = dot.getBoundingClientRect(); svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + 4,\
  clientY: box.y + 4 })); const out = document.createElement("p"); out.textContent = document.querySelector("#chart-events .tip").textContent;\
  document.body.append(out); }</script></body>|' runs/slow/report.html >events.html
dom events.html
has '<p>delegate, link 2-3' 1
# What has become slow: marked on curves, with its place on the time line, also where replicas told it.
mkdir -p runs/failslow/replica-0
for step in 0 1 2 3 4 5 6 7; do
  echo "{\"step\": $step, \"loss\": 5, \"tokens\": 64, \"seconds\": 0.1, \"tokens_per_second\": $((640 - step))}"
done >runs/failslow/metrics.jsonl
cat >runs/failslow/events.jsonl <<'EVENTS'
{"time": 10, "step": 0, "event": "start"}
{"time": 10.3, "step": 3, "event": "onset", "iteration": 2, "ratio": 1.5}
{"time": 10.4, "step": 3, "event": "validation", "seconds": 0.1, "tested": ["data"], "found": 2, "reason": "suspects"}
{"time": 10.5, "step": 4, "event": "fail_slow", "cause": "several", "components": [{"kind": "rank", "rank": 5}, {"kind": "link", "ranks": [3, 7]}]}
{"time": 10.55, "step": 5, "event": "mitigate", "strategy": "ring", "components": [{"kind": "link", "ranks": [3, 7]}], "order": [0, 2, 1, 3]}
{"time": 10.6, "step": 6, "event": "healed", "kind": "link", "ranks": [3, 7], "factor": 1.01, "slow_steps": 2}
{"time": 10.65, "step": 6, "event": "revert", "strategy": "ring", "components": [{"kind": "link", "ranks": [3, 7]}], "reason": "healed"}
EVENTS
echo '{"time": 10.7, "step": 7, "event": "relief", "iteration": 6, "ratio": 0.66}' >runs/failslow/replica-0/events.jsonl
tenax report runs/failslow >/dev/null
dom runs/failslow/report.html
for mark in onset relief slow healed mitigated reverted; do has "class=\"mark $mark\"" 3; done  # of two curves, and in their keys
has 'fail-slow found' 2
for event in onset relief validation fail_slow healed mitigate revert; do has ">$event</text>" 1; done
has '"event": "fail_slow", "place": "rank 5, link of ranks 3-7"' 1
has '"event": "mitigate", "place": "link of ranks 3-7"' 1
has '"event": "healed", "place": "link of ranks 3-7"' 1
has '"event": "relief", "place": "", "details": "of replica 0, ' 1
tenax inspect runs/failslow >inspect.txt
for event in onset relief validation fail_slow healed mitigate revert; do grep -q "^  $event  *1 time$" inspect.txt || fail "inspect does not count $event"; done
echo "ok browser"
