#!/usr/bin/env bash
# Makes sure that what a target needs is installed. Quiet when nothing is missing; otherwise names
# what is, and installs it when this user may (root, or sudo without a password). Otherwise it
# prints the command that a user with rights has to run, and ends with 2. Running it twice is harmless.
#
# usage: scripts/setup.sh [build] [web] [browser] [kafka] [database] [hosts] [library] [bench] [accuracy] [package] [kubernetes]
#   build   Rust with rustfmt and clippy, a C compiler, make, git
#   web     build, and Node with npm: the script of the pages is TypeScript
#   browser web, and Chromium with a font: pages are tested in it
#   kafka   build, and a JDK 17 or newer and Maven: local clusters are real Apache Kafka
#   database  build, and PostgreSQL's server and tools, of which the installation starts none
#   hosts   build, and what other hosts are made of in tests: sshd (the installation starts none), ip, unshare
#   library build, and what librdkafka needs to be built: apps/library has it as its client
#   bench   kafka, and what librdkafka's own benchmark needs to be built
#   accuracy  what the probes are held against: pidstat, sar, iostat
#   package  on Debian and its like, what is in a container image
#   kubernetes  what a cluster of two nodes is made of, Go to build it with, and root
set -uo pipefail

readonly OLDEST_JAVA=17
readonly OLDEST_NODE=18

missing=()      # what, in words
packages=()     # Debian packages that bring it

have() { command -v "$1" >/dev/null 2>&1; }

need() { # command, words, package
    have "$1" || { missing+=("$2"); packages+=("$3"); }
}

need_of_root() { # the same of what is in no folder of a user's PATH
    [ -x "/usr/sbin/$1" ] || need "$@"
}

java_major() { # 17 for "17.0.15", 8 for "1.8.0_402"; empty without a working Java
    have java || return 0
    java -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1
}

# The oldest Java that is new enough and that this system offers; the distribution's own choice where
# its package lists are not there to be asked.
java_package() {
    local major
    for major in 17 21 25; do
        if have apt-cache && apt-cache show "openjdk-$major-jdk-headless" >/dev/null 2>&1; then
            echo "openjdk-$major-jdk-headless"
            return
        fi
    done
    echo "default-jdk-headless"
}

check_rust() {
    if ! have cargo || ! have rustc; then
        echo "setup: missing: a Rust toolchain (cargo and rustc 1.95 or newer)" >&2
        echo "hint: install it with rustup, then run this again" >&2
        exit 2
    fi
    local component
    for component in fmt clippy; do
        if ! cargo "$component" --version >/dev/null 2>&1; then
            [ "$component" = fmt ] && component=rustfmt
            echo "setup: missing: $component" >&2
            if have rustup; then
                echo "setup: rustup component add $component" >&2
                rustup component add "$component" >&2 && continue
            fi
            echo "hint: rustup component add $component" >&2
            exit 2
        fi
    done
}

check_kafka() {
    local major
    major="$(java_major)"
    if [ -z "$major" ]; then
        missing+=("a JDK, $OLDEST_JAVA or newer")
        packages+=("$(java_package)")
    elif [ "$major" -lt "$OLDEST_JAVA" ]; then
        missing+=("a JDK, $OLDEST_JAVA or newer (found $major)")
        packages+=("$(java_package)")
    fi
    need mvn "Maven" maven
}

# The server, which lies in no folder of PATH.
have_postgres() {
    local initdb
    for initdb in /usr/lib/postgresql/*/bin/initdb; do
        [ -x "$initdb" ] && return 0
    done
    return 1
}

check_go() {
    if ! have go; then
        echo "setup: missing: a Go toolchain (go 1.24 or newer)" >&2
        echo "hint: install it from go.dev, then run this again" >&2
        exit 2
    fi
    if [ "$(id -u)" -ne 0 ]; then
        echo "setup: nodes of a cluster are made by root" >&2
        exit 2
    fi
}

check_node() {
    local major=""
    have node && major="$(node --version | sed -n 's/^v\([0-9][0-9]*\).*/\1/p')"
    if [ -z "$major" ]; then
        missing+=("Node, $OLDEST_NODE or newer")
        packages+=(nodejs)
    elif [ "$major" -lt "$OLDEST_NODE" ]; then
        missing+=("Node, $OLDEST_NODE or newer (found $major)")
        packages+=(nodejs)
    fi
    need npm "npm" npm
}

install() { # the groups, to look again once the package lists are fresh
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
    fi
    local command="apt-get update && apt-get install -y --no-install-recommends ${packages[*]}"
    if ! have apt-get; then
        echo "hint: install the like of these Debian packages: ${packages[*]}" >&2
        exit 2
    fi
    if [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
        echo "hint: sudo sh -c '$command'" >&2
        exit 2
    fi
    local update=("${as_root[@]}" apt-get update -q)
    local add=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends)
    if ! "${update[@]}" >&2; then
        echo "setup: the package lists could not be refreshed; trying with what is there" >&2
    fi
    survey "$@"
    # The package would make a cluster and start it; nobody asked for one.
    local no_cluster=/etc/postgresql-common/createcluster.d/kdyno.conf
    case " ${packages[*]} " in
    *" postgresql "*)
        "${as_root[@]}" mkdir -p "${no_cluster%/*}" &&
            echo "create_main_cluster = false" | "${as_root[@]}" tee "$no_cluster" >/dev/null
        ;;
    *) no_cluster= ;;
    esac
    # This one would start a server that the network reaches, now and after each boot.
    local no_service=/usr/sbin/policy-rc.d no_boot=()
    case " ${packages[*]} " in
    *" openssh-server "*)
        ! have systemctl || no_boot=("${as_root[@]}" systemctl --quiet disable ssh.service)
        if [ -e "$no_service" ]; then
            no_service=
        else
            trap "${as_root[*]} rm -f $no_service" EXIT
            printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$no_service" >/dev/null &&
                "${as_root[@]}" chmod 755 "$no_service"
        fi
        ;;
    *) no_service= ;;
    esac
    echo "setup: installing ${packages[*]}" >&2
    local status=0
    "${add[@]}" "${packages[@]}" >&2 || status=$?
    [ -z "$no_service" ] || "${as_root[@]}" rm -f "$no_service"
    trap - EXIT
    [ ${#no_boot[@]} -eq 0 ] || "${no_boot[@]}" >&2 || true
    if [ "$status" -ne 0 ]; then
        echo "setup: the installation failed" >&2
        echo "hint: run by hand: $command" >&2
        exit 2
    fi
    [ -z "$no_cluster" ] || "${as_root[@]}" rm -f "$no_cluster"
}

# What is missing, as words and packages, for the groups given.
survey() {
    missing=()
    packages=()
    need cc "a C compiler" gcc
    need ld "a linker" binutils
    [ -e /usr/include/stdio.h ] || ! have apt-get || { missing+=("the C library's headers"); packages+=(libc6-dev); }
    need make "make" make
    need git "git" git
    case " $* " in *" kafka "* | *" bench "*) check_kafka ;; esac
    case " $* " in *" database "*)
        have_postgres || { missing+=("PostgreSQL"); packages+=(postgresql); }
        ;;
    esac
    case " $* " in *" hosts "*)
        need_of_root sshd "sshd" openssh-server
        need_of_root ip "ip" iproute2
        need ssh "ssh" openssh-client
        need unshare "unshare" util-linux
        ;;
    esac
    case " $* " in *" web "* | *" browser "*) check_node ;; esac
    case " $* " in *" browser "*)
        need chromium "Chromium" chromium
        if [ -z "$(find /usr/share/fonts -name '*.ttf' -print -quit 2>/dev/null)" ]; then
            missing+=("a font")
            packages+=(fonts-dejavu-core)
        fi
        ;;
    esac
    case " $* " in *" package "*)
        [ -e /etc/ssl/certs/ca-certificates.crt ] || ! have dpkg-deb ||
            { missing+=("trusted authorities"); packages+=(ca-certificates); }
        ;;
    esac
    case " $* " in *" kubernetes "*)
        need containerd "containerd" containerd
        need runc "runc" runc
        need etcd "etcd" etcd-server
        need ip "ip" iproute2
        need iptables "iptables" iptables
        need openssl "OpenSSL" openssl
        need python3 "Python 3" python3
        [ -x /usr/lib/cni/bridge ] || { missing+=("network plugins of containers"); packages+=(containernetworking-plugins); }
        ;;
    esac
    case " $* " in *" accuracy "*) need pidstat "pidstat, sar and iostat" sysstat ;; esac
    case " $* " in *" bench "* | *" library "*)
        need c++ "a C++ compiler" g++
        need python3 "Python 3 (for librdkafka's configure)" python3
        ;;
    esac
}

main() {
    [ $# -gt 0 ] || set -- build
    local group
    for group in "$@"; do
        case "$group" in
        build | web | browser | kafka | database | hosts | library | bench | accuracy | package | kubernetes) ;;
        *)
            echo "setup: unknown group: $group" >&2
            echo "hint: build, web, browser, kafka, database, hosts, library, bench, accuracy, package, kubernetes" >&2
            exit 2
            ;;
        esac
    done
    check_rust
    case " $* " in *" kubernetes "*) check_go ;; esac
    survey "$@"
    [ ${#missing[@]} -gt 0 ] || exit 0
    local thing
    for thing in "${missing[@]}"; do
        echo "setup: missing: $thing" >&2
    done
    install "$@"
    hash -r
    survey "$@"
    [ ${#missing[@]} -eq 0 ] && exit 0
    echo "setup: still missing after the installation: ${missing[*]}" >&2
    exit 2
}

main "$@"
