# Two ranks on two hosts, which are two network namespaces joined by a cable that becomes slow (tc tbf): the run says from when on
# it is slower, that the link between the ranks of the data group is, and when it has healed. Its losses are those of a healthy
# run.
source "$(dirname "$0")/failslow.sh"
hosts=(tenax$$a tenax$$b) cable=tenax0 addresses=(10.213.77.1 10.213.77.2)
clean_up() {
  local host
  kill ${training:-} 2>/dev/null || true
  for host in "${hosts[@]}"; do ip netns del $host 2>/dev/null || true; done
}
# Runs a command on a host: with its network, its name and its own shared memory.
cat >host <<'END'
#!/bin/sh
name=$1
shift
exec ip netns exec $name unshare --uts sh -c 'hostname "$0" && mount -t tmpfs none /dev/shm && exec "$@"' $name "$@"
END
# Instead of ssh, which mpirun calls with a host and a command.
cat >agent <<END
#!/bin/sh
shift
exec $PWD/host ${hosts[1]} sh -c "\$*"
END
chmod +x host agent
on() { ./host ${hosts[$1]} "${@:2}"; }
for tool in ip tc unshare; do command -v $tool >/dev/null || skips "there is no $tool"; done
trap clean_up EXIT
ip netns add ${hosts[0]} 2>why.log && ip netns add ${hosts[1]} 2>>why.log &&
  ip link add $cable netns ${hosts[0]} type veth peer name $cable netns ${hosts[1]} 2>>why.log && on 0 true 2>>why.log ||
  skips "hosts made of namespaces are forbidden here: $(tail -n 1 why.log)"
for i in 0 1; do
  on $i ip link set lo up
  on $i ip addr add ${addresses[$i]}/24 dev $cable
  on $i ip link set $cable up
done
# limit add|del: makes it slow, or whole again, in both directions.
limit() {
  local i bucket="tbf rate 200mbit burst 512kb latency 200ms"
  for i in 0 1; do on $i tc qdisc $1 dev $cable root $([ $1 = del ] || echo $bucket) 2>>why.log || return 1; done
}
limit add && limit del || skips "a rate limit is forbidden here: $(tail -n 1 why.log)"

# networked NAME override…: begins the run, a rank on each host.
networked() {
  on 0 timeout 200 mpirun --host ${addresses[0]}:1,${addresses[1]}:1 -n 2 --mca plm rsh --mca plm_rsh_agent "$PWD/agent" \
    --mca oob_tcp_if_include 10.213.77.0/24 --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.213.77.0/24 \
    "$TENAX" "$PWD/slow.toml" run.name="$1" comm.transport=tcp "comm.interfaces=[\"$cable\"]" "${@:2}" >$1.log 2>&1 </dev/null &
  training=$!
}

# slow_cable NAME: for 60 steps.
slow_cable() {
  networked $1
  await_step $1 40
  limit add
  await_step $1 100
  limit del
  await_end $1
  changes_near $1 onset 40 && changes_near $1 relief 100 &&
    blames $1 40 104 '"kind": "link".*"group": "data".*"cause": "link"' && heals $1 '"kind": "link".*"group": "data"'
}
found slow_cable

networked healthy detect.enabled=false
await_end healthy
claim same runs/healthy/metrics.jsonl runs/$found/metrics.jsonl
echo "ok the same losses"
