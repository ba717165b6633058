package nfsfs

// Config configures an FS. The zero value is usable.
type Config struct {
	// Export is the path of the root on the server: symbolic links that lead to
	// absolute paths below it are followed. "" is no path: none are.
	Export string
	// Size is the bytes of one READ or WRITE; 0 means 1 MiB. It is lowered to what the server can do.
	Size int
	// Parallel is how many READs or WRITEs of one file are under way, at most MaxParallel; 0 means 8.
	Parallel int
	// Uncommitted is how many bytes of a file may be written and not committed; they are kept in memory
	// to be written again should the server lose them. 0 means 64 MiB.
	Uncommitted int
}

// MaxParallel is the largest Config.Parallel. What is larger is lowered to it.
const MaxParallel = 4096

// The defaults.
const (
	defaultSize        = 1 << 20
	defaultParallel    = 8
	defaultUncommitted = 64 << 20
)

// settle fills in the defaults, also for what is negative.
func (c *Config) settle() {
	if c.Size <= 0 {
		c.Size = defaultSize
	}
	if c.Parallel <= 0 {
		c.Parallel = defaultParallel
	}
	c.Parallel = min(c.Parallel, MaxParallel)
	if c.Uncommitted <= 0 {
		c.Uncommitted = defaultUncommitted
	}
}
