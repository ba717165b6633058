# A tree of 50 levels with files in each, copied, moved and removed.
dir=tree
levels=50
for level in $(seq $levels); do
	dir=$dir/level-$level
	mkdir -p $dir
	for file in a b c; do echo "$level $file" >$dir/$file; done
done
fresh
same "files" "$(find tree -type f | wc -l)" $((3 * levels))
same "directories" "$(find tree -type d | wc -l)" $((levels + 1))
same "a file at the bottom" "$(cat $dir/b)" "50 b"
cp -r tree copy
mv tree moved
fresh
(cd moved && find . -type f | sort | xargs cat) >/tmp/moved
(cd copy && find . -type f | sort | xargs cat) >/tmp/copy
cmp /tmp/moved /tmp/copy
same "subdirectories by link count" "$(stat -c %h moved)" 3
refused "Directory not empty" rmdir moved
rm -r moved copy
same "what is left" "$(ls -A)" ""
