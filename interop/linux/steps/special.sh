# Fifos and devices.
mkfifo -m 640 fifo
mknod null c 1 3
mknod zero c 1 5
mknod disk b 259 70000
fresh
same "a fifo" "$(stat -c '%F %a' fifo)" "fifo 640"
same "a character device" "$(stat -c '%F %t:%T' null)" "character special file 1:3"
same "a block device" "$(stat -c '%F %t:%T' disk)" "block special file 103:11170"
echo through >fifo &
same "what went through the fifo" "$(cat fifo)" through
wait
echo nothing >null
same "zeros" "$(head -c 3 zero | od -An -tx1)" " 00 00 00"
refused "File exists" mkfifo null
rm fifo null zero disk
same "what is left" "$(ls -A)" ""
