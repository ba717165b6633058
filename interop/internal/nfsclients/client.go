//go:build interop

package nfsclients

// Server is where NFS and MOUNT are.
type Server struct {
	Host string
	// NFS and MOUNT are the ports, over TCP. With 0 they are asked for by the port mapper at port
	// 111 of the host.
	NFS, Mount int
}

// Client is an NFS client.
type Client struct {
	Name string
	// Ports says that ports can be named, if SamePort is not set any two.
	Ports, SamePort bool
	// Mount mounts an export as user 0.
	Mount func(s Server, export string) (Volume, error)
}

// All are the clients that there are.
var All = []Client{
	{Name: "vmware", Mount: mountVMware},
	{Name: "willscott", Ports: true, SamePort: true, Mount: mountWillscott},
	{Name: "libnfs", Ports: true, Mount: mountLibnfs},
}

// Volume is an export that is mounted. Names of files are relative to it.
type Volume interface {
	// Write makes a file with data in it.
	Write(name string, data []byte) error
	// Read returns what is in a file.
	Read(name string) ([]byte, error)
	// List returns the sizes of the files in a directory, by name, without directories.
	List(dir string) (map[string]int64, error)
	// Close unmounts the export.
	Close() error
}

// Changer is a Volume of a client that can do more.
type Changer interface {
	Volume
	Mkdir(name string) error
	Remove(name string) error
	RemoveAll(name string) error
}
