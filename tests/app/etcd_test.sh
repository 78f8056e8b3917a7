# A run whose membership is recorded in etcd: members of etcd that die, etcd that is away, supervisors that vanish, stop or are cut
# off, and others that stand by on another host. No epoch is there twice, and training loses nothing.
source "$(dirname "$0")/launch.sh"
source "$(dirname "$0")/etcd.sh"
unshare --uts true 2>/dev/null || skips "no host names of our own here"
hasten_failures

free_ports 8
declare -A client=([a]=${ports[0]} [b]=${ports[1]} [c]=${ports[2]}) peer=([a]=${ports[3]} [b]=${ports[4]} [c]=${ports[5]})
cluster=a=http://127.0.0.1:${peer[a]},b=http://127.0.0.1:${peer[b]},c=http://127.0.0.1:${peer[c]}
start() { start_member $1 ${client[$1]} ${peer[$1]} $cluster; }
for name in a b c; do start $name; done
waiting= old=
trap 'kill -KILL $waiting $old 2>/dev/null || true; stop_all; end_members' EXIT
for name in a b c; do await_member ${client[$name]}; done
store=etcd://127.0.0.1:${client[a]},127.0.0.1:${client[b]},127.0.0.1:${client[c]}

# Steps of some hundredths of a second, so that ledgers stay short.
sed -E "s#= \"(initial|tokens)#= \"$golden/\1#" $deck >slow.toml
printf '\n[[inject]]\nkind = "link_delay"\nreplicas = [0, 1]\ndelay_ms = 2\n' >>slow.toml
deck=slow.toml
overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100000 replicas.store=$store/run)
run=run
supervise
await_commits 20

# await_lines FILE TEXT COUNT
await_lines() {
  for _ in $(seq 1200); do
    [ "$(cat $1 2>/dev/null | grep -cF -- "$2")" -ge $3 ] && return
    sleep 0.05
  done
  fail "$1 does not say \"$2\" $3 times: $(tail -n 5 $1 $run.err)"
}
# reborn: a replica dies and comes back, which takes two epochs.
reborn() {
  local before
  before=$(events $run replica_join)
  await_members
  kill -KILL "$(rank_of 1)"
  await_lines runs/$run/events.jsonl '"event": "replica_join"' $((before + 1))
  await_commits 5
}
leader=$(leader_of a b c)
[ -n "$leader" ] || fail "nobody leads etcd"
other=$([ $leader = a ] && echo b || echo a)
kill -KILL ${member[$other]}
reborn
start $other
await_member ${client[$other]}
kill -KILL ${member[$leader]}
reborn
start $leader
await_member ${client[$leader]}
[ "$(stored ${client[$leader]} run/epoch)" = "$(grep -c '"members"' runs/run/ledger.jsonl)" ] || fail "etcd has other epochs than the ledger"
[ "$(events run replica_lost)" = 2 ] || fail "etcd's members took replicas with them: $(cat run.out)"
echo "ok a member of etcd, then its leader"

kill -STOP "${member[@]}"
await_lines run.err "training goes on, but until it answers" 1
await_commits 40
kill -CONT "${member[@]}"
await_lines run.err "answers again" 1
[ "$(grep -c . run.err)" = 2 ] || fail "said more than once: $(cat run.err)"
[ "$(events run epoch)" = 5 ] || fail "a membership that did not change has new epochs"
reborn
echo "ok etcd away: training goes on"

# supervise_on HOST [STORE]: another supervisor there, in `waiting`; its output goes to HOST.out.
supervise_on() {
  local host=$1 given=("${overrides[@]}")
  [ $# = 1 ] || given=("${given[@]/#replicas.store=*/replicas.store=$2}")
  unshare --uts sh -c 'hostname "$0" && exec "$@"' $host "$TENAX" launch $deck run.name=$run ${TENAX_DEVICE:+device.kind=$TENAX_DEVICE} \
    "${given[@]}" >>$host.out 2>>$host.err </dev/null &
  waiting=$!
}
# standby HOST [STORE]: one that waits.
standby() {
  supervise_on "$@"
  await_lines $1.out "standing by" 1
}
# taken_over: by the one that was waiting; the replicas have not noticed.
taken_over() {
  await_lines runs/$run/events.jsonl '"event": "standby"' $1
  await_commits 10
  [ "$(events $run replica_lost)" = $lost ] || fail "a supervisor took replicas with it: $(tail -n 20 runs/$run/events.jsonl)"
}
# seconds_to_take_over SINCE: until the last standby was in charge.
seconds_to_take_over() { awk -v since=$1 '/"event": "standby"/ { time = substr($2, 1, length($2) - 1) } END { printf "%.1f s", time - since }' runs/$run/events.jsonl; }
lost=$(events run replica_lost)
standby blue
since=$(date +%s.%N)
kill -KILL $supervisor
wait $supervisor 2>/dev/null || true
taken_over 1
killed=$(seconds_to_take_over $since)
[ "$(sed -n 's/.*"supervisor": {"host": "\([^"]*\)".*/\1/p' runs/run/launch.json)" = blue ] || fail "not the standby's: $(cat runs/run/launch.json)"
old=$waiting
standby green
since=$(date +%s.%N)
kill -STOP $old
taken_over 2
stopped=$(seconds_to_take_over $since)
kill -CONT $old
got=0
wait $old || got=$?
[ $got = 1 ] && [ "$(grep -c . blue.err)" = 1 ] && grep -q "another supervisor has taken this run over" blue.err ||
  fail "one that wakes: status $got: $(cat blue.err)"
await_commits 20
reborn
echo "ok a standby takes over from one that was killed ($killed), and from one that stopped ($stopped), which wakes"

launches=$(events run launch)
kill -KILL $waiting
wait $waiting 2>/dev/null || true
supervise_on green
await_lines runs/run/events.jsonl '"event": "launch"' $((launches + 1))
await_commits 20
[ "$(grep -c "standing by" green.out)" = 1 ] || fail "it waits for the lease of one that is dead: $(cat green.out)"
[ "$(events run replica_lost)" = $((lost + 1)) ] || fail "a supervisor took replicas with it: $(tail -n 20 runs/run/events.jsonl)"
reborn
echo "ok one that was killed is started again on its host, and waits for no lease"

# One that reaches etcd through a gateway that is cut.
supervisor=$waiting
stop_run
audited run
etcd gateway start --listen-addr 127.0.0.1:${ports[6]} --endpoints=127.0.0.1:${client[a]},127.0.0.1:${client[b]} >gateway.log 2>&1 </dev/null &
member[gateway]=$!
for _ in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/${ports[6]}) 2>/dev/null && break; sleep 0.1; done
run=cut
overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100000 replicas.store=etcd://127.0.0.1:${ports[6]}/cut)
supervise
await_commits 20
standby red $store/cut
lost=0
kill -STOP ${member[gateway]}
kill -KILL "$(rank_of 1)"  # an epoch that the one which is cut off must not decide
await_lines runs/cut/events.jsonl '"event": "standby"' 1
got=0
wait $supervisor || got=$?
[ $got = 1 ] && grep -q "another supervisor has taken this run over" cut.err || fail "one that is cut off: status $got: $(cat cut.err)"
await_members
await_commits 20
[ "$(grep '"members"' runs/cut/ledger.jsonl | grep -o '"epoch": [0-9]*' | sort | uniq -d | wc -l)" = 0 ] || fail "an epoch twice"
supervisor=$waiting
standby late $store/cut
kill -USR1 $supervisor
wait $supervisor || fail "status $? when asked to stop: $(cat red.err)"
wait $waiting || fail "a standby of a run that was stopped: status $?: $(cat late.err)"
grep -q "the run ended on red: signal" late.out || fail "it does not say so: $(cat late.out)"
audited cut
echo "ok one that is cut off decides no epoch; a standby of a run that ends, ends"

# One in charge that has long to look at what is there, as at a large checkpoint: here at the lock of a host that is gone. The
# standby lets it, longer than a lease lasts.
run=looks overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100000 replicas.store=$store/looks)
mkdir -p runs/looks
echo '{"host": "gone", "pid": 1, "pid_start": 1, "job": "", "restart": 0, "time": 1, "beats": true}' >runs/looks/.lock
supervise
await_lines looks.out "whether it still runs" 1
standby grey
sleep 8
[ "$(grep -c . grey.out)" = 1 ] && [ ! -s grey.err ] || fail "a standby does not let one begin: $(cat grey.out grey.err)"
kill -USR1 $supervisor
wait $supervisor || fail "status $? of one that is stopped before it has begun: $(cat looks.err)"
wait $waiting || fail "a standby of a run that was stopped: status $?: $(cat grey.err)"
grep -q "the run ended on .*: signal" grey.out || fail "it does not say so: $(cat grey.out)"
echo "ok one that begins is given the time"

# One that is killed when it has ended the run, and before it says so: the standby does not begin it again.
run=last overrides=(parallel.replicas=2 $(layout 1 1 1) $endless checkpoint.interval=100000 replicas.store=$store/last)
supervise
await_commits 20
standby dusk
kill -USR1 $supervisor
for _ in $(seq 2000); do grep -qs '"status": 0' runs/last/replica-[01]/outcome && break; sleep 0.01; done
kill -KILL $supervisor 2>/dev/null || true
wait $supervisor 2>/dev/null || true
wait $waiting || fail "a standby of a run that has ended: status $?: $(cat dusk.err)"
[ "$(events last replica_start)" = 2 ] || fail "a run that was stopped trains on: $(cat dusk.out)"
audited last
saved=$(ls runs/last/checkpoints | sed -n 's/^step-0*\([0-9]*\).h5$/\1/p' | tail -n 1)
[ "${saved:-0}" = "$(commits last)" ] || fail "of $(commits last) steps ${saved:-none} are saved"
echo "ok a supervisor that dies when it has ended the run"

# A run that is told to go on from a checkpoint of more steps than its ledger has: it begins a new one, and etcd knows of no other.
launch told parallel.replicas=2 $(layout 1 1 1) run.train_steps=5 replicas.store=$store/told || fail "a short run: $(cat told.err)"
launch told parallel.replicas=2 $(layout 1 1 1) run.train_steps=$((saved + 5)) replicas.store=$store/told \
  run.resume=$PWD/runs/last/checkpoints/$(printf step-%06d $saved).h5 || fail "from a checkpoint of another run: $(cat told.err)"
audited told
[ "$(commits told)" = 5 ] && [ "$(stored ${client[a]} told/epoch)" = "$(grep -c '"members"' runs/told/ledger.jsonl)" ] ||
  fail "etcd has other epochs than the new ledger: $(cat runs/told/ledger.jsonl)"
echo "ok a run that goes on from a checkpoint beyond its ledger"

# refused NAME STATUS TEXT override…: before any rank starts.
refused() {
  local name=$1 status=$2 text=$3 got=0
  shift 3
  launch $name parallel.replicas=2 "$@" || got=$?
  [ $got = $status ] && [ "$(grep -c . $name.err)" = 1 ] && grep -qF -- "$text" $name.err && [ ! -e runs/$name ] ||
    fail "$name: status $got: $(cat $name.err)"
}
refused malformed 2 "no HOST:PORT" replicas.store=etcd://127.0.0.1/p
refused nobody 1 "cannot be reached" replicas.store=etcd://127.0.0.1:${ports[7]}/p
refused nowhere 1 "nowhere.invalid" replicas.store=etcd://nowhere.invalid:2379/p
refused another 1 "are those of the run in" replicas.store=$store/cut
refused unasked 1 "TENAX_STORE_PASSWORD" replicas.store=$store/p replicas.store_user=root

auth() { ask ${client[a]} /v3/auth/$1 "$2" | grep -q '"header"' || fail "etcd refuses $1"; }
auth user/add '{"name":"root","password":"fjord-4711"}'
auth role/add '{"name":"root"}'
auth user/grant '{"user":"root","role":"root"}'
auth enable '{}'
TENAX_STORE_PASSWORD=wrong refused password 1 "refuses user root" replicas.store=$store/p replicas.store_user=root
refused nameless 1 "refuses" replicas.store=$store/p
echo fjord-4711 >password
TENAX_STORE_PASSWORD_FILE=$PWD/password launch known parallel.replicas=2 $(layout 1 1 1) run.train_steps=10 replicas.store=$store/p replicas.store_user=root ||
  fail "with its password: $(cat known.err)"
! grep -rq fjord-4711 known.out known.err runs/known || fail "the password is written down"
audited known
end_members
member=()

free_ports 2
scheme=https start_member tls ${ports[0]} ${ports[1]} tls=http://127.0.0.1:${ports[1]} --auto-tls
for _ in $(seq 100); do [ -s etcd-tls/fixtures/client/cert.pem ] && (exec 3<>/dev/tcp/127.0.0.1/${ports[0]}) 2>/dev/null && break; sleep 0.1; done
refused stranger 1 certificate replicas.store=etcds://127.0.0.1:${ports[0]}/p
cp /etc/ssl/certs/ca-certificates.crt other.pem 2>/dev/null || true
[ ! -s other.pem ] || refused authority 1 certificate replicas.store=etcds://127.0.0.1:${ports[0]}/p replicas.store_ca=other.pem
refused no_authority 1 absent.pem replicas.store=etcds://127.0.0.1:${ports[0]}/p replicas.store_ca=absent.pem
for _ in 1 2 3; do  # its first election takes a second
  launch tls parallel.replicas=2 $(layout 1 1 1) run.train_steps=10 replicas.store=etcds://127.0.0.1:${ports[0]}/p \
    replicas.store_ca=etcd-tls/fixtures/client/cert.pem && break
  sleep 2
done
audited tls
echo "ok users and TLS; what is refused, is refused before any rank starts"
trap - EXIT
end_members
! pgrep -f -- "--join $PWD/runs/" || fail "processes are left"
