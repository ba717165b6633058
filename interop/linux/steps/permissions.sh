# What other users may do. 1000 is the owner, 1001 another user, 2000 a group.
cp /bin/busybox busybox
chmod 711 busybox
mkdir -m 755 owned
chown 1000:1000 owned
as 1000 1000 - sh -c 'echo secret >owned/secret; chmod 600 owned/secret; echo for the group >owned/group; echo public >owned/public'
chown 1000:2000 owned/group
chmod 640 owned/group
fresh
same "the owner reads" "$(as 1000 1000 - cat owned/secret)" secret
refused "Permission denied" as 1001 1001 - cat owned/secret
refused "Permission denied" as 1001 1001 - cat owned/group
same "a member of the group reads" "$(as 1001 1001 3000,2000 cat owned/group)" "for the group"
same "one in 16 groups reads" "$(as 1001 1001 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,2000 cat owned/group)" "for the group"
refused "Permission denied" as 1001 1001 2000 sh -c 'echo more >>owned/group'
refused "Permission denied" as 1001 1001 - touch owned/new
refused "Permission denied" as 1001 1001 - rm -f owned/public
refused "Permission denied" as 1001 1001 - mv owned/public owned/mine
refused "not permitted" as 1001 1001 - chmod 777 owned/public
refused "not permitted" as 1000 1000 - chown 1001 owned/public
refused "not permitted" as 1000 1000 - chown 1000:3000 owned/public
as 1000 1000 3000 chown 1000:3000 owned/public
refused "not permitted" as 1001 1001 - touch -c -d 2001-01-01 owned/public
refused "Permission denied" as 1001 1001 - touch -c owned/public
chmod 666 owned/public
as 1001 1001 - touch owned/public

# The owner can write through a descriptor opened before the file became read-only, and to a file
# that it created read-only.
as 1000 1000 - sh -c 'umask 333; echo written >owned/readonly; exec 3>owned/closed; chmod 0 owned/closed; echo written >&3'
fresh
same "a read-only file" "$(stat -c %a owned/readonly) $(cat owned/readonly)" "444 written"
same "a closed file" "$(stat -c %a owned/closed) $(cat owned/closed)" "0 written"

# To execute a file, the client must read it from the server.
same "a program that can only be executed" "$(as 1001 1001 - ./busybox echo ran)" ran

chmod 700 owned
fresh
refused "Permission denied" as 1001 1001 - cat owned/public
refused "Permission denied" as 1001 1001 - ls owned
chmod 711 owned
same "through a directory that cannot be listed" "$(as 1001 1001 - cat owned/public)" public
refused "Permission denied" as 1001 1001 - ls owned

mkdir -m 1777 sticky
as 1000 1000 - touch sticky/of-1000
refused "not permitted" as 1001 1001 - rm -f sticky/of-1000
refused "not permitted" as 1001 1001 - mv sticky/of-1000 sticky/mine
as 1000 1000 - mv sticky/of-1000 sticky/mine
as 1000 1000 - rm sticky/mine

# A write by another user clears the setuid bit.
echo x >setuid
chmod 6777 setuid
as 1001 1001 - sh -c 'echo y >>setuid'
fresh
same "mode after another's write" "$(stat -c %a setuid)" 777
