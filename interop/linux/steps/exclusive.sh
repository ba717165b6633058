# O_EXCL does not open an existing file. If many processes create a file, exactly one succeeds.
echo first >file
refused "File exists" dd if=/dev/zero of=file count=1 conv=excl
same "contents" "$(cat file)" first
dd if=/host/data of=new bs=1000 count=1 conv=excl 2>/dev/null
fresh
head -c 1000 /host/data | cmp - new
same "owner and mode" "$(stat -c '%u %g %a' new)" "0 0 644"
age=$(($(date +%s) - $(stat -c %Y new)))
[ $age -gt -3600 ] && [ $age -lt 3600 ] || same "age of a file made exclusively, in seconds" $age "next to nothing"
for try in 1 2 3 4 5; do
	for who in 1 2 3 4 5 6 7 8; do
		{ set -C && echo $who >race-$try; } 2>/dev/null && echo won >>won-$try &
	done
	wait
	same "who have created it" "$(cat won-$try)" won
done
