package cli

// Permissions returns the mode as ls prints it.
func Permissions(mode uint32) string {
	b := []byte("rwxrwxrwx")
	for i := range b {
		if mode&(0o400>>i) == 0 {
			b[i] = '-'
		}
	}
	return string(b)
}
