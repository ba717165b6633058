# What every step begins with. It runs in an empty directory of the mount at $MOUNTPOINT, which is of $SOURCE with $OPTIONS. $SIZE is
# the bytes of /host/data, $ENTRIES and $FIO_MIB how much there is to do. What a step prints before it fails tells why.
set -e
umask 022
ulimit -n 512

# same WHAT GOT WANT
same() {
	[ "$2" = "$3" ] || {
		echo "$1: got $2, want $3"
		exit 1
	}
}

# refused TEXT COMMAND...: the command must fail, with the message of this error.
refused() {
	want=$1
	shift
	if said=$("$@" 2>&1); then
		echo "$*: it was done, want: $want"
		exit 1
	fi
	case $said in
	*"$want"*) ;;
	*)
		echo "$*: got $said, want: $want"
		exit 1
		;;
	esac
}

# as UID GID GROUPS COMMAND...: the command with these credentials; GROUPS is "-" for none.
as() {
	id="--reuid $1 --regid $2"
	[ "$3" = - ] && id="$id --clear-groups" || id="$id --groups $3"
	shift 3
	setpriv $id "$@"
}

# fresh forgets what the client has cached.
fresh() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
