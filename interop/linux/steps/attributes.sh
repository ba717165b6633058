# Modes, owners and times.
echo x >file
mkdir dir
for mode in 0 777 4751 2755 1644 600; do
	chmod $mode file dir
	fresh
	same "mode of a file" "$(stat -c %a file)" $mode
	same "mode of a directory" "$(stat -c %a dir)" $mode
done

chown 1234:5678 file dir
fresh
same "owner of a file" "$(stat -c %u:%g file)" 1234:5678
same "owner of a directory" "$(stat -c %u:%g dir)" 1234:5678
chown 4294967294:4000000000 file
fresh
same "large numbers" "$(stat -c %u:%g file)" 4294967294:4000000000
chmod 6755 file
chown 1:1 file
fresh
same "mode after the owner has changed" "$(stat -c %a file)" 755

touch -d '2001-02-03 04:05:06.123456789' file
touch -a -d '2002-03-04 05:06:07.000000001' file
touch -d '2003-04-05 06:07:08.999999999' dir
fresh
same "modification time" "$(stat -c %.9Y file)" 981173106.123456789
same "access time" "$(stat -c %.9X file)" 1015218367.000000001
same "time of a directory" "$(stat -c %.9Y dir)" 1049522828.999999999
touch -d @4294967295 file
fresh
same "the last second of NFS" "$(stat -c %Y file)" 4294967295
touch -d @0 file
fresh
same "the first second" "$(stat -c %.9Y file)" 0.000000000

# Changes that must show in the times that the client sees.
stamps() { stat -c '%.9Y %.9Z' "$1"; }
changed() { # WHAT FILE COMMAND...: both times of the directory, or the change time of the file
	what=$1 file=$2
	shift 2
	before=$(stat -c %.9Z "$file")
	"$@"
	fresh
	after=$(stat -c %.9Z "$file")
	[ "$before" != "$after" ] || same "$what" "a change time of $after" "another than $before"
}
changed "a new mode" file chmod 600 file
changed "a new link" file ln file link
changed "an entry made" dir touch dir/entry
changed "an entry renamed" dir mv dir/entry dir/other
changed "an entry removed" dir rm dir/other
before=$(stat -c %.9Y file)
echo more >>file
fresh
[ "$(stat -c %.9Y file)" != "$before" ] || same "modification time after a write" "$before" "another"

# New files and directories in a directory with the setgid bit.
mkdir shared
chown 0:5678 shared
chmod 2775 shared
touch shared/file
mkdir shared/dir
fresh
same "group of a file" "$(stat -c %g shared/file)" 5678
same "group and mode of a directory" "$(stat -c '%g %a' shared/dir)" "5678 2755"
