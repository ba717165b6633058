# Holes: sizes, blocks and contents.
mib=1048576
head -c 4096 /dev/urandom >/tmp/block
truncate -s $((1024 * mib)) sparse
dd if=/tmp/block of=sparse bs=4096 seek=$((512 * mib / 4096)) conv=notrunc,fsync 2>/dev/null
fresh
same "size" "$(stat -c %s sparse)" $((1024 * mib))
blocks=$(($(stat -c '%b * %B' sparse)))
[ $blocks -ge 4096 ] && [ $blocks -le $mib ] || same "bytes in blocks" $blocks "4096 to $mib"
dd if=sparse of=/tmp/part bs=$mib skip=511 count=2 2>/dev/null
{ head -c $mib /dev/zero; cat /tmp/block; head -c $((mib - 4096)) /dev/zero; } | cmp - /tmp/part
same "bytes at the end" "$(tail -c 10000 sparse | tr -d '\0' | wc -c)" 0

# A gibibyte between the writes.
for i in 1 2 3; do dd if=/tmp/block of=far bs=4096 seek=$((i * 1024 * mib / 4096)) conv=notrunc 2>/dev/null; done
fresh
same "size beyond 32 bits" "$(stat -c %s far)" $((3 * 1024 * mib + 4096))
tail -c 4096 far | cmp - /tmp/block
[ $(($(stat -c '%b * %B' far))) -le $mib ] || same "bytes in blocks beyond 32 bits" "$(($(stat -c '%b * %B' far)))" "at most $mib"
