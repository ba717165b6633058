//go:build interop

package nfsclients

// Server is the address of NFS and MOUNT.
type Server struct {
	Host string
	// NFS and MOUNT are TCP ports. With 0 the client asks the port mapper at the host's port 111.
	NFS, Mount int
}

// Client is an NFS client.
type Client struct {
	Name string
	// Ports says that the client takes ports. SamePort says that both must be the same.
	Ports, SamePort bool
	// Mount mounts an export as user 0.
	Mount func(s Server, export string) (Volume, error)
}

// All has all clients.
var All = []Client{
	{Name: "vmware", Mount: mountVMware},
	{Name: "willscott", Ports: true, SamePort: true, Mount: mountWillscott},
	{Name: "libnfs", Ports: true, Mount: mountLibnfs},
}

// Volume is a mounted export. File names are relative to it.
type Volume interface {
	// Write makes a file with data in it.
	Write(name string, data []byte) error
	// Read returns the content of a file.
	Read(name string) ([]byte, error)
	// List returns the sizes of the files in a directory by name. It leaves out directories.
	List(dir string) (map[string]int64, error)
	// Close unmounts the export.
	Close() error
}

// Changer is a Volume of a client with more operations.
type Changer interface {
	Volume
	Mkdir(name string) error
	Remove(name string) error
	RemoveAll(name string) error
}
