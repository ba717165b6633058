# shellcheck shell=bash
# The functions that run the commands of a document, in namespaces of their own: every port is free, and /etc, /srv, /mnt and /var/lib may be written to.
set -u

fail() { # WHERE WHAT
	echo "FAILED: $1: $2" >&2
	exit 1
}

# lay lets a directory be written to. What is written there ends with the namespace.
lay() { # NAME DIRECTORY
	mkdir -p "$SANDBOX/mounts/$1" "$SANDBOX/mounts/$1.work"
	mount -t overlay overlay "$2" \
		-o "lowerdir=$2,upperdir=$SANDBOX/mounts/$1,workdir=$SANDBOX/mounts/$1.work"
}

# setup makes the machine that the documents speak of. All hosts that they name are this one.
setup() {
	set -e
	mount -t proc proc /proc
	ip link set lo up
	mount -t tmpfs tmpfs "$SANDBOX/mounts"
	lay etc /etc
	# Modules are where they were when the build cache got its packages. The module proxy has them
	# without what is downloaded here.
	mount --bind "$GOMODCACHE/cache/download" "$SANDBOX/downloads"
	lay modules "$GOMODCACHE"
	mount --bind "$COPY" "$ROOT"
	cd "$ROOT"
	local dir
	for dir in /srv /mnt /var/lib; do mount -t tmpfs tmpfs "$dir"; done
	echo '127.0.0.1 SERVER HOST server.example server.example.org' >>/etc/hosts
	# What the reader has: data to serve, and a directory for the configuration.
	mkdir -p /etc/rpcrdma /srv/data/photos /srv/backup /srv/secret /var/lib/rpcrdma
	seq 100000 >/srv/data/file
	seq 1000 >/srv/data/photos/one
	set +e
}

# run runs a command, which must end with an exit code.
run() { # WHERE CODE COMMAND
	local code=0
	printf '+ %s: %s' "$1" "$3"
	eval "$3" || code=$?
	[ "$code" = "$2" ] || fail "$1" "exit code $code, want $2"
}

declare -A running # the processes that serve, by the words behind rpcrdma

# start starts a command that goes on until the document ends, or starts another one of its kind,
# and waits for what it prints when it is ready.
start() { # WHERE KIND COMMAND
	local out=$SANDBOX/out.$2 size=-1
	printf '+ %s: %s' "$1" "$3"
	end "$2"
	(eval "exec $3") >"$out" 2>"$out.err" &
	running[$2]=$!
	until [ -s "$out" ] && [ "$(stat -c %s "$out")" = "$size" ]; do # until it says no more
		size=$(stat -c %s "$out")
		sleep 0.3
		kill -0 "${running[$2]}" 2>/dev/null || fail "$1" "it has ended: $(cat "$out" "$out.err")"
	done
	cat "$out"
}

# end ends the process of a kind, if there is one. It must end well.
end() { # KIND
	local pid=${running[$1]:-}
	[ -n "$pid" ] || return 0
	unset "running[$1]"
	kill "$pid"
	wait "$pid" || fail "rpcrdma $1" "exit code $? after SIGTERM: $(cat "$SANDBOX/out.$1.err")"
}

end_all() {
	local kind
	for kind in "${!running[@]}"; do end "$kind"; done
}

# accept has serve check a configuration.
accept() { # WHERE TEXT
	printf '+ %s: serve --check --config\n' "$1"
	printf '%s' "$2" >"$SANDBOX/serve.toml"
	rpcrdma serve --check --config "$SANDBOX/serve.toml" || fail "$1" "serve does not accept it"
}
