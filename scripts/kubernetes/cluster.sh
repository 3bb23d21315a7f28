#!/usr/bin/env bash
# A Kubernetes cluster of two real nodes on this machine for tests: etcd, API server, controllers, scheduler, and on each node a
# kubelet with containerd, runc and a bridge. Everything is in network namespaces of its own, from which no packet leaves, and
# whoever reaches it is its administrator: it holds nothing. Needs root.
#
# usage: scripts/kubernetes/cluster.sh build          its program, of Go modules (8 minutes; later seconds)
#        scripts/kubernetes/cluster.sh up             returns when both nodes, n1 and n2, are ready
#        scripts/kubernetes/cluster.sh image NAME FILE=PATH...    an image into both nodes, printed with its digest
#        scripts/kubernetes/cluster.sh kubectl ...    as its administrator
#        scripts/kubernetes/cluster.sh run CMD...     a command at 198.18.0.1, which pods reach and from which the API server is
#        scripts/kubernetes/cluster.sh kill PART      as by a power failure: apiserver, n1 or n2
#        scripts/kubernetes/cluster.sh start PART     that part again; returns when it is ready
#        scripts/kubernetes/cluster.sh deny PORT      nothing passes between pods and others, but for that TCP port of this host
#        scripts/kubernetes/cluster.sh allow          all of them do again
#        scripts/kubernetes/cluster.sh fill UID       takes memory in that pod until the kernel ends what needs most
#        scripts/kubernetes/cluster.sh down           ends all of it and leaves its logs
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly here="$PWD/scripts/kubernetes"
readonly state="${KDYNO_KUBERNETES_DIR:-$PWD/target/kubernetes}"
readonly bin="$state/bin" lab="$state/lab"
readonly version=1.34.4
readonly host=198.18.0.1
# Network namespace of the host of the cluster; those of nodes have its name before theirs.
readonly net=kdyno-k8s
readonly nodes="1 2"
readonly config="$lab/kubeconfig"
readonly hierarchies="cpu cpuacct cpuset memory devices freezer blkio pids systemd unified"

inside() { nsenter "--net=/run/netns/$net" "$@"; }

kubectl() { inside "$bin/kubectl" --kubeconfig "$config" "$@"; }

part() { # name, command …: runs on in the background until `down`
    local name="$1"
    shift
    inside setsid -f bash -c 'echo $$ >"$0"; exec "$@"' "$lab/run/$name.pid" "$@" >"$lab/log/$name" 2>&1 </dev/null
}

until_it_is() { # seconds, what, command …
    local end=$((SECONDS + $1)) what="$2"
    shift 2
    until "$@" >/dev/null 2>&1; do
        if ((SECONDS >= end)); then
            echo "cluster: not in time: $what; logs are in $lab/log" >&2
            return 1
        fi
        sleep 0.1
    done
}

build() {
    mkdir -p "$bin"
    local at=k8s.io/component-base/version client=k8s.io/client-go/pkg/version
    local values="-X $at.gitVersion=v$version -X $at.gitMajor=1 -X $at.gitMinor=34"
    values+=" -X $client.gitVersion=v$version -X $client.gitMajor=1 -X $client.gitMinor=34"
    (cd "$here/cluster" && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w $values" -o "$bin/cluster" .)
    local name
    for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kubectl; do
        ln -sf cluster "$bin/$name"
    done
    cc -Os -static -s -o "$bin/pause" "$here/cluster/pause.c"
    "$here/image.py" localhost/kdyno/pause "$bin/pause.tar" "$bin/pause=/pause" >/dev/null
}

# Who the API server knows by a token: no certificate has to be made.
kubeconfig() { # user
    cat <<END
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: $1}}]
clusters: [{name: test, cluster: {server: "https://$host:6443", certificate-authority: $lab/apiserver/apiserver.crt}}]
users: [{name: $1, user: {token: $1}}]
END
}

up() {
    if [ -e "/run/netns/$net" ]; then
        echo "cluster: it is up already" >&2
        exit 2
    fi
    rm -rf "$lab"
    mkdir -p "$lab"/{run,log,etcd,apiserver,images}
    openssl genrsa -out "$lab/accounts.key" 2048 2>/dev/null
    local n
    {
        echo 'admin,admin,1,"system:masters"'
        for n in $nodes; do echo "n$n,system:node:n$n,n$n,\"system:nodes\""; done
    } >"$lab/tokens"
    kubeconfig admin >"$config"

    ip netns add "$net"
    ip -n "$net" link set lo up
    ip -n "$net" link add br0 type bridge
    ip -n "$net" addr add "$host/24" dev br0
    ip -n "$net" link set br0 up
    inside sysctl -qw net.ipv4.ip_forward=1

    part etcd etcd --data-dir "$lab/etcd" --unsafe-no-fsync --listen-client-urls http://127.0.0.1:2379 \
        --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
    apiserver
    part controllers "$bin/kube-controller-manager" --kubeconfig="$config" --leader-elect=false \
        --service-account-private-key-file="$lab/accounts.key" --cert-dir="$lab/run"
    part scheduler "$bin/kube-scheduler" --kubeconfig="$config" --leader-elect=false --cert-dir="$lab/run"
    for n in $nodes; do node "$n"; done
    for n in $nodes; do
        until_it_is 90 "node n$n" kubectl wait --for=condition=Ready "node/n$n" --timeout=1s
    done
    until_it_is 30 "the default service account" kubectl get serviceaccount default
}

apiserver() {
    part apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:2379 --advertise-address=$host \
        --bind-address=$host --cert-dir="$lab/apiserver" --token-auth-file="$lab/tokens" --authorization-mode=Node,RBAC \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$lab/accounts.key" \
        --service-account-signing-key-file="$lab/accounts.key" --service-cluster-ip-range=198.18.128.0/24 \
        --kubelet-preferred-address-types=InternalIP
    until_it_is 60 "the API server" kubectl get --raw /readyz
}

wire() { # node: its network, and a way to the pods of the others
    local n="$1" other
    ip netns add "$net-n$n"
    ip -n "$net" link add "v$n" type veth peer name eth0 netns "$net-n$n"
    ip -n "$net" link set "v$n" master br0 up
    ip -n "$net-n$n" link set lo up
    ip -n "$net-n$n" addr add "198.18.0.$((10 + n))/24" dev eth0
    ip -n "$net-n$n" link set eth0 up
    ip -n "$net-n$n" route add default via $host
    nsenter "--net=/run/netns/$net-n$n" sysctl -qw net.ipv4.ip_forward=1
    for other in $nodes; do
        [ "$other" = "$n" ] || ip -n "$net-n$n" route add "198.18.$other.0/24" via "198.18.0.$((10 + other))"
    done
    ip -n "$net" route replace "198.18.$n.0/24" via "198.18.0.$((10 + n))"
}

control_groups() { # node: control groups of version 1, where this machine has them
    local h folder file
    for h in $hierarchies; do
        [ -d "/sys/fs/cgroup/$h" ] || continue
        for folder in "/sys/fs/cgroup/$h/$net" "/sys/fs/cgroup/$h/$net/n$1"; do
            mkdir -p "$folder"
            if [ "$h" = cpuset ]; then
                for file in cpuset.cpus cpuset.mems; do
                    cat "/sys/fs/cgroup/cpuset/$file" >"$folder/$file"
                done
            fi
        done
    done
}

node() { # its number
    local n="$1" dir="$lab/n$1"
    mkdir -p "$dir"/{kubelet,containerd,socket,cni,cni-data,pods,containers,netns,sysctl}
    wire "$n"
    control_groups "$n"
    kubeconfig "n$n" >"$dir/kubeconfig"
    : >"$dir/resolv.conf"
    # The kubelet wants settings of the whole machine: files in their place have what it wants.
    local setting
    for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
        kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
        echo "${setting#*=}" >"$dir/sysctl/$(tr / . <<<"${setting%=*}")"
    done
    cat >"$dir/containerd.toml" <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/kdyno/pause:test"
  # Who may not lower the score by which the kernel chooses what it kills cannot set that of a pod.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "/etc/cni/net.d"
END
    cat >"$dir/cni/10-bridge.conflist" <<END
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "cni0", "isGateway": true, "ipam":
  {"type": "host-local", "ranges": [[{"subnet": "198.18.$n.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
END
    cat >"$dir/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$net/n$n
failCgroupV1: false
failSwapOn: false
protectKernelDefaults: true
resolvConf: $dir/resolv.conf
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 0%, imagefs.available: 0%, nodefs.inodesFree: 0%}
END
    nsenter "--net=/run/netns/$net-n$n" setsid -f bash -c 'echo $$ >"$0"; exec "$@"' "$lab/run/n$n.pid" \
        unshare --mount --uts --ipc --pid --fork --kill-child --mount-proc bash "$here/node.sh" "$dir" "$bin" "$n" \
        >"$lab/log/n$n" 2>&1 </dev/null
}

image() { # name, files as of image.py
    local name="$1" archive n
    shift
    archive="$lab/images/$(basename "$name").tar"
    "$here/image.py" "$name" "$archive" "$@"
    for n in $nodes; do
        ctr --address "$lab/n$n/socket/containerd.sock" -n k8s.io images import --base-name "$name" --digests "$archive" \
            >/dev/null
    done
}

end_part() { # name
    local pid
    [ -e "$lab/run/$1.pid" ] || return 0
    pid="$(cat "$lab/run/$1.pid")"
    kill -9 "$pid" 2>/dev/null || true
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    rm "$lab/run/$1.pid"
}

kill_part() { # name
    case "$1" in
    apiserver) end_part apiserver ;;
    n[0-9])
        # First its network: nobody hears that its connections end.
        ip -n "$net" link del "v${1#n}"
        end_part "$1"
        ip netns del "$net-$1"
        ;;
    *) return 2 ;;
    esac
}

start_part() { # name
    case "$1" in
    apiserver) apiserver ;;
    n[0-9])
        node "${1#n}"
        # Not what was known of it before: for up to a minute the API server does not know that it was gone.
        until_it_is 90 "node $1" is_kubelet_there "198.18.0.$((10 + ${1#n}))"
        until_it_is 90 "node $1" kubectl wait --for=condition=Ready "node/$1" --timeout=1s
        ;;
    *) return 2 ;;
    esac
}

is_kubelet_there() { # address
    inside bash -c 'exec 3<>"/dev/tcp/$0/10250"' "$1"
}

deny() { # TCP port of this host to which pods may connect
    local n
    for n in $nodes; do
        nsenter "--net=/run/netns/$net-n$n" iptables -A FORWARD -d "$host" -p tcp --dport "$1" -j ACCEPT
        nsenter "--net=/run/netns/$net-n$n" iptables -A FORWARD -s "$host" -p tcp --sport "$1" -j ACCEPT
        nsenter "--net=/run/netns/$net-n$n" iptables -A FORWARD -j DROP
    done
}

allow() {
    local n
    for n in $nodes; do nsenter "--net=/run/netns/$net-n$n" iptables -F FORWARD; done
}

fill() { # uid of a pod
    local group pid
    for group in /sys/fs/cgroup/memory/"$net"/n*/kubepods/*/"pod$1"/*/; do
        for pid in $(cat "$group/cgroup.procs"); do
            [[ "$(tr '\0' ' ' <"/proc/$pid/cmdline")" = *"kdyno agent "* ]] || continue
            # What it reads has no line end, so it keeps all of it.
            bash -c 'echo $$ >"$0/cgroup.procs"; exec tail /dev/zero' "$group" || true
            return 0
        done
    done
    echo "cluster: no agent runs in pod $1" >&2
    return 1
}

down() {
    local n name h
    for name in $(for n in $nodes; do echo "n$n"; done) scheduler controllers apiserver etcd; do
        end_part "$name"
    done
    for n in $nodes; do ip netns del "$net-n$n" 2>/dev/null || true; done
    ip netns del "$net" 2>/dev/null || true
    for h in $hierarchies; do
        for n in 1 2 3 4 5 6 7 8 9 10; do
            [ -d "/sys/fs/cgroup/$h/$net" ] || break
            find "/sys/fs/cgroup/$h/$net" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
        done
    done
}

command="${1:-}"
shift || true
case "$command" in
build | up | image | kubectl | deny | allow | fill | down) "$command" "$@" ;;
kill | start) "${command}_part" "$@" ;;
run) inside env "KUBECONFIG=$config" "KDYNO_TEST_HOST=$host" "KDYNO_TEST_CLUSTER=$here/cluster.sh" "PATH=$bin:$PATH" "$@" ;;
*)
    sed -n '2,16s/^# \?//p' "$0" >&2
    exit 2
    ;;
esac
