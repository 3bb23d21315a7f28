#!/usr/bin/env bash
# A node of the cluster of tests, in namespaces of its own; cluster.sh starts it.
#
# usage: scripts/kubernetes/node.sh DIR BIN N     its folder, that of the programs, its number
set -euo pipefail

readonly dir="$1" bin="$2" n="$3"
readonly socket=/run/containerd/containerd.sock

hostname "n$n"
mount --make-rshared /
over() { # folder of the node, folder of this machine in its place
    mkdir -p "$2"
    mount --bind "$dir/$1" "$2"
}
over kubelet /var/lib/kubelet
mount --make-rshared /var/lib/kubelet
over containerd /var/lib/containerd
over socket /run/containerd
over cni /etc/cni/net.d
over cni-data /var/lib/cni
over pods /var/log/pods
over containers /var/log/containers
over netns /run/netns
for file in "$dir"/sysctl/*; do
    mount --bind "$file" "/proc/sys/$(basename "$file" | tr . /)"
done

containerd --config "$dir/containerd.toml" &
until ctr --address "$socket" version >/dev/null 2>&1; do sleep 0.05; done
ctr --address "$socket" -n k8s.io images import "$bin/pause.tar"
"$bin/kubelet" --config="$dir/kubelet.yaml" --kubeconfig="$dir/kubeconfig" --hostname-override="n$n" \
    --node-ip="198.18.0.$((10 + n))"
