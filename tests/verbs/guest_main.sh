# The first process of a guest, once it has the host's files: sets the network up, runs the job's command, keeps its output
# and its status, and switches the machine off. GUEST_MODULES and GUEST_LINKS come with the job's environment.
. /run/job/environment
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

# Two ends in one network name space, which rxe of Linux 6.1 does not leave: packets come in from one's own address, and
# nobody answers a question for the other's.
one_name_space() {
  local each
  for each in all default; do
    sysctl -qw net.ipv4.conf.$each.{accept_local=1,rp_filter=0,arp_ignore=1,arp_announce=2} net.ipv6.conf.$each.disable_ipv6=1
  done
}

# add_link N: the interfaces aN and bN, 10.77.N.1 and 10.77.N.2, joined by a cable; the RDMA devices rxe_aN and rxe_bN.
add_link() {
  local a=a$1 b=b$1
  ip link add $a mtu 4200 type veth peer name $b mtu 4200
  ip address add 10.77.$1.1/24 dev $a
  ip address add 10.77.$1.2/24 dev $b
  ip link set $a up
  ip link set $b up
  ip neighbour replace 10.77.$1.2 lladdr "$(cat /sys/class/net/$b/address)" nud permanent dev $a
  ip neighbour replace 10.77.$1.1 lladdr "$(cat /sys/class/net/$a/address)" nud permanent dev $b
  rdma link add rxe_$a type rxe netdev $a
  rdma link add rxe_$b type rxe netdev $b
}

hostname guest
ip link set lo up
# Where the kernel, too, looks for modules (rxe wants the one that computes checksums).
mkdir -p /lib/modules
ln -s "$GUEST_MODULES/lib/modules/$(uname -r)" /lib/modules/
modprobe -a rdma_rxe ib_uverbs veth sch_netem
one_name_space
for ((link = 0; link < GUEST_LINKS; ++link)); do add_link $link; done
echo "guest: up after $(cut -d ' ' -f 1 /proc/uptime) s"

(cd "$(cat /run/job/directory)" && exec setsid bash -c "$(cat /run/job/command)") </dev/null >/run/job/output 2>&1
echo $? >/run/job/status
echo "guest: done after $(cut -d ' ' -f 1 /proc/uptime) s"
sync
echo o >/proc/sysrq-trigger
sleep 60
