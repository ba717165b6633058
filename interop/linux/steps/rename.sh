# Renaming over existing files.
printf old >a
printf newer >b
inode=$(stat -c %i b)
exec 3<a
mv -T b a
same "contents" "$(cat a)" newer
same "inode" "$(stat -c %i a)" "$inode"
refused "No such file" stat b
same "the file that was replaced, still open" "$(cat <&3)" old
exec 3<&-
fresh
same "contents, from the server" "$(cat a)" newer
same "inode, from the server" "$(stat -c %i a)" "$inode"

mkdir empty full from
echo kept >full/file
echo moved >from/file
mv -T from empty
same "a directory over an empty one" "$(cat empty/file)" moved
refused "Directory not empty" mv -T empty full
refused "cannot overwrite directory" mv -T a full
refused "cannot overwrite non-directory" mv -T full a
same "what a refused rename would have replaced" "$(cat full/file)" kept

ln a same
mv -T full elsewhere
mv a elsewhere/a
fresh
same "a file in another directory" "$(stat -c %i elsewhere/a)" "$inode"
same "names" "$(find . | sort | tr '\n' ' ')" ". ./elsewhere ./elsewhere/a ./elsewhere/file ./empty ./empty/file ./same "
