# Hard links, and an open file that is removed.
echo one >a
ln a b
mkdir dir
ln b dir/c
same "links" "$(stat -c %h a)" 3
same "inode" "$(stat -c %i dir/c)" "$(stat -c %i a)"
echo two >>b
chmod 640 dir/c
fresh
same "contents by another name" "$(tr '\n' ' ' <dir/c)" "one two "
same "mode by another name" "$(stat -c %a a)" 640
refused "File exists" ln a b
rm a b
fresh
same "links after removal" "$(stat -c %h dir/c)" 1
same "contents after removal" "$(tr '\n' ' ' <dir/c)" "one two "
for i in $(seq 100); do ln dir/c link-$i; done
fresh
same "links of many" "$(stat -c %h dir/c)" 101
rm link-*

echo open >file
exec 3<>file
rm file
refused "No such file" stat file
fresh
same "contents of a removed file" "$(cat <&3)" open
echo more >&3
exec 3>&-
same "what is left" "$(ls -A)" dir
