# Reading by mmap returns what was written, at once and after dropping the cache.
job="--name=job --directory=. --filename=mapped --size=4m --bs=4k --verify=crc32c --verify_fatal=1 --output=/tmp/fio --thread --fallocate=none"
for step in "--rw=write --ioengine=psync --do_verify=0" "--rw=randread --ioengine=mmap" "--rw=read --ioengine=mmap"; do
	fio $job $step || {
		tail -n 40 /tmp/fio
		exit 1
	}
	fresh
done
