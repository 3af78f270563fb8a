// Package podspec is what the node agent tells podinit about a container.
package podspec

type Spec struct {
	Netns            string // name under /run/netns; "" stays in the node's
	Hostname         string
	Layers           []string // of the image, the topmost first; none is an empty root
	Host             bool     // the host's programs and libraries are in it, read-only
	ReadOnly         bool     // nothing but mounts can be written to
	Dir              string   // where the container's layers go
	Argv             []string
	Env              []string
	Cwd              string
	UID, GID         int
	Groups           []int
	NoNewPrivileges  bool
	DropCapabilities bool
	KeepBindService  bool // CAP_NET_BIND_SERVICE stays all the same
	Sysctls          map[string]string
	Files            map[string]string // written into the root
	Mounts           []Mount
}

type Mount struct {
	Source, Target string
	ReadOnly       bool
}
