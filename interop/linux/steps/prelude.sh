# The beginning of every step. A step runs in an empty directory of the mount at $MOUNTPOINT, which
# is of $SOURCE with $OPTIONS. $SIZE is the length of /host/data in bytes. $ENTRIES and $FIO_MIB set
# the amount of work. A step that fails first prints why.
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

# refused TEXT COMMAND...: the command must fail, with TEXT in its error.
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

# as UID GID GROUPS COMMAND...: run the command as this user; GROUPS is "-" for none.
as() {
	id="--reuid $1 --regid $2"
	[ "$3" = - ] && id="$id --clear-groups" || id="$id --groups $3"
	shift 3
	setpriv $id "$@"
}

# fresh drops the client's cache.
fresh() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
}

sum() { sha256sum <"$1" | cut -d ' ' -f 1; }
