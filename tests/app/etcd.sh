# Members of etcd on loopback for tests, and what is asked of them. Source it after launch.sh.
command -v etcd >/dev/null || skips "no etcd on this machine (etcd-server)"

# free_ports N: so many, in `ports`.
free_ports() {
  ports=()
  while [ ${#ports[@]} -lt $1 ]; do
    local port=$((10000 + RANDOM % 20000))
    [[ " ${ports[*]} " == *" $port "* ]] || (exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null || ports+=($port)
  done
}

# start_member NAME CLIENT_PORT PEER_PORT CLUSTER option…: its process becomes ${member[NAME]}.
declare -A member
start_member() {
  local name=$1 client=$2 peer=$3 cluster=$4
  shift 4
  etcd --name $name --data-dir $PWD/etcd-$name --listen-client-urls ${scheme:-http}://127.0.0.1:$client \
    --advertise-client-urls ${scheme:-http}://127.0.0.1:$client --listen-peer-urls http://127.0.0.1:$peer \
    --initial-advertise-peer-urls http://127.0.0.1:$peer --initial-cluster $cluster --unsafe-no-fsync "$@" \
    >>etcd-$name.log 2>&1 </dev/null &
  member[$name]=$!
}
end_members() { kill -CONT "${member[@]}" 2>/dev/null || true; kill -KILL "${member[@]}" 2>/dev/null || true; }

# ask PORT PATH BODY: the reply of the member there, or nothing.
ask() {
  local line length=0 reply=
  exec 3<>/dev/tcp/127.0.0.1/$1 || return 1
  printf 'POST %s HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' "$2" ${#3} "$3" >&3
  timeout 5 cat <&3 | tr -d '\r' | sed '1,/^$/d'
  exec 3>&-
}
await_member() {
  for _ in $(seq 200); do
    ask $1 /v3/kv/range '{"key":"eA=="}' 2>/dev/null | grep -q '"header"' && return
    sleep 0.1
  done
  fail "etcd does not start: $(tail -n 3 etcd-*.log)"
}
# stored PORT KEY: its value.
stored() {
  ask $1 /v3/kv/range "{\"key\":\"$(printf %s "$2" | base64 -w0)\"}" | sed -n 's/.*"value":"\([^"]*\)".*/\1/p' | base64 -d
}
# leader_of NAME…: the member that leads the others; ${client[NAME]} are their ports.
leader_of() {
  local name status id
  for name in "$@"; do
    status=$(ask ${client[$name]} /v3/maintenance/status '{}' 2>/dev/null) || continue
    id=$(sed -n 's/.*"member_id":"\([0-9]*\)".*/\1/p' <<<"$status")
    [ -n "$id" ] && grep -q "\"leader\":\"$id\"" <<<"$status" && echo $name && return
  done
}
