# Truncate and extend to odd sizes, with and without cached data. A local file shows the expected
# result.
head -c 300001 /dev/urandom >/tmp/local
cp /tmp/local file
for size in 200003 100000 250007 4096 4095 70001 1 65536 0 12345; do
	truncate -s $size file /tmp/local
	same "size" "$(stat -c %s file)" $size
	cmp file /tmp/local
	fresh
	cmp file /tmp/local
	# Append, then truncate inside the new data without flushing the cache.
	head -c 5000 /dev/urandom >/tmp/tail
	cat /tmp/tail >>file
	cat /tmp/tail >>/tmp/local
	truncate -s -777 file /tmp/local
	cmp file /tmp/local
done
: >file
fresh
same "size after O_TRUNC" "$(stat -c %s file)" 0
