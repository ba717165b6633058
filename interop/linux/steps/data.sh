# $SIZE bytes to the server and back.
want=$(sum /host/data)
seconds() { cut -d ' ' -f 1 /proc/uptime; }
start=$(seconds)
dd if=/host/data of=data bs=1M conv=fsync 2>/dev/null
wrote=$(seconds)
fresh
reading=$(seconds)
same "bytes" "$(stat -c %s data)" "$SIZE"
dd if=data of=/dev/null bs=1M 2>/dev/null
read=$(seconds)
same "SHA-256 of what was written and read" "$(sum data)" "$want"
echo "FIGURES $start $wrote $reading $read"
