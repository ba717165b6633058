# Symbolic links, with targets of up to 1000 bytes.
echo contents >file
long=$(printf './%.0s' $(seq 498))file
nowhere=$(printf 'x%.0s' $(seq 1000))
ln -s "$long" long
ln -s "$nowhere" nowhere
ln -s 'a b	*?' odd
ln -s .. parent
fresh
same "a target" "$(readlink long)" "$long"
same "length" "$(stat -c %s long)" 1000
same "what it leads to" "$(cat long)" contents
same "a target that is not there" "$(readlink nowhere)" "$nowhere"
same "an odd target" "$(readlink odd)" 'a b	*?'
same "a directory" "$(stat -L -c %i parent)" "$(stat -c %i ..)"
refused "File exists" ln -s other long
refused "File name too long" cat nowhere
name=$(printf 'n%.0s' $(seq 255))
ln -s file "$name"
fresh
same "a name of 255 bytes" "$(cat "$name")" contents
refused "File name too long" touch "${name}n"
mv -T odd moved
rm long nowhere parent "$name"
same "names" "$(ls | tr '\n' ' ')" "file moved "
same "a link that was renamed" "$(readlink moved)" 'a b	*?'
