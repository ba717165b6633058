# Random reads and writes by several jobs, with each byte verified: buffered, direct, asynchronous,
# and by mmap. $FIO_MIB in total.
each=$((FIO_MIB / 16))m
verified() {
	fio --output=/tmp/fio --directory=. --size=$each --fallocate=none --verify_fatal=1 --verify_dump=0 --thread \
		--group_reporting --exitall_on_error "$@" || {
		tail -n 40 /tmp/fio
		exit 1
	}
	! grep -q 'verify:' /tmp/fio || {
		grep 'verify:' /tmp/fio
		exit 1
	}
	rm -f job.*
}
verified --name=job --numjobs=4 --rw=randrw --bsrange=512-64k --bs_unaligned --ioengine=psync --verify=crc32c
verified --name=job --numjobs=4 --rw=randwrite --bs=64k --direct=1 --ioengine=psync --verify=sha256
verified --name=job --numjobs=4 --rw=randrw --bsrange=4k-1m --blockalign=4k --direct=1 --ioengine=libaio --iodepth=8 --verify=crc32c
verified --name=job --numjobs=2 --rw=randwrite --bs=4k --ioengine=mmap --verify=crc32c
verified --name=job --numjobs=2 --rw=write --bs=128k --fsync=4 --ioengine=psync --verify=crc32c
