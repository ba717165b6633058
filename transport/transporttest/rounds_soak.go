//go:build soak

package transporttest

// rounds is how often a subtest repeats what may turn out differently each time.
const rounds = 12
