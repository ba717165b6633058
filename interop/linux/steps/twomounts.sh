# Two mounts of the export with separate caches. With noac each sees all changes of the other;
# without, it sees changes to closed files.
here=${PWD#"$MOUNTPOINT"/}
pair() { # OPTIONS: mounts the export twice, and goes by $one and $two to this directory
	for i in 1 2; do
		mkdir -p /tmp/mount-$i
		mount.nfs "$SOURCE" /tmp/mount-$i -o "$OPTIONS,nosharecache$1"
	done
	one=/tmp/mount-1/$here two=/tmp/mount-2/$here
}
unpair() { umount.nfs /tmp/mount-1; umount.nfs /tmp/mount-2; }

pair ,noac
: >$one/log
for i in $(seq 30); do
	echo "one $i" >>$one/log
	echo "two $i" >>$two/log
	same "lines in turn $i" "$(wc -l <$one/log)" $((2 * i))
done
same "lines of the other" "$(grep -c two $one/log)" 30
cmp $one/log $two/log
truncate -s 10 $two/log
same "size after the other has truncated it" "$(stat -c %s $one/log)" 10
mv $one/log $one/moved
same "a file that the other has moved" "$(ls $two | tr '\n' ' ')" "moved "
chmod 600 $two/moved
same "mode that the other has set" "$(stat -c %a $one/moved)" 600
rm $one/moved
refused "No such file" cat $two/moved
for try in 1 2 3; do
	for who in 1 2 3 4; do
		for at in $one $two; do
			{ set -C && echo $who >$at/race-$try; } 2>/dev/null && echo won >>/tmp/won-$try &
		done
	done
	wait
	same "who have created a file" "$(cat /tmp/won-$try)" won
	rm -f /tmp/won-$try
done
unpair

pair ''
for i in $(seq 10); do
	head -c $((i * 10007)) /host/data >$one/file
	same "what the other wrote and closed" "$(sum $two/file)" "$(head -c $((i * 10007)) /host/data | sha256sum | cut -d ' ' -f 1)"
	head -c $((i * 5003)) /host/data >$two/file
	same "what this one wrote and closed" "$(sum $one/file)" "$(head -c $((i * 5003)) /host/data | sha256sum | cut -d ' ' -f 1)"
done
unpair
