# Make, list (by name and with attributes) and remove a directory of $ENTRIES files.
lap() {
	now=$(cut -d ' ' -f 1 /proc/uptime)
	echo "$1 until $now;"
}
lap start
mkdir many
i=0
while [ $i -lt "$ENTRIES" ]; do
	i=$((i + 1))
	: >many/entry-$i
done
lap made
same "entries that ls lists" "$(ls many | wc -l)" "$ENTRIES"
lap listed
fresh
same "entries that ls -l lists" "$(ls -l many | grep -c ^-)" "$ENTRIES"
lap listed-with-attributes
same "names" "$(ls -f many | grep -v '^\.' | sort)" "$(seq "$ENTRIES" | sed s/^/entry-/ | sort)"
lap listed-again
fresh
rm -r many
refused "No such file" stat many
lap removed
