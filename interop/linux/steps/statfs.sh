# The output of df and pathconf.
df -P . | tail -n 1
set -- $(stat -f -c '%S %b %f %a %c %d %l' .)
[ "$1" -ge 512 ] || same "block size" "$1" "at least 512"
[ "$2" -gt 0 ] || same "blocks" "$2" "some"
[ "$3" -gt 0 ] && [ "$3" -le "$2" ] || same "free blocks" "$3" "1 to $2"
[ "$4" -gt 0 ] && [ "$4" -le "$3" ] || same "available blocks" "$4" "1 to $3"
[ "$6" -le "$5" ] || same "files and free files" "$5 $6" "some, and no more"
same "longest name" "$7" 255
