package cli

// Permissions returns the permissions of a mode as ls prints them, such as rwxr-x---.
func Permissions(mode uint32) string {
	b := []byte("rwxrwxrwx")
	for i := range b {
		if mode&(0o400>>i) == 0 {
			b[i] = '-'
		}
	}
	return string(b)
}
