package client

import (
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools"
	"parley/tools/mcp"
)

//lint:file-ignore SA1019 Roots and sampling are what servers use today: the protocol keeps them until July 2027 at least.

// roots holds the user's directories, which servers get as roots.
type roots struct {
	mu          sync.Mutex
	directories []string
}

func (r *roots) list() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.directories)
}

// SetRoots implements mcp.Servers.
func (all *servers) SetRoots(directories ...string) {
	all.roots.mu.Lock()
	old := all.roots.directories
	all.roots.directories = slices.Clone(directories)
	all.roots.mu.Unlock()
	var gone []string
	for _, f := range old {
		if !slices.Contains(directories, f) {
			gone = append(gone, rootURI(f))
		}
	}
	for _, s := range all.sorted() {
		s.mu.Lock()
		client := s.conn.client
		s.mu.Unlock()
		if client != nil && getsRoots(s.config) {
			own := ownDirectories(s.effectiveConfig())
			all.start(func() { // so that Close waits for a server that does not read
				client.RemoveRoots(gone...)
				all.roots.addTo(client, own)
			})
		}
	}
}

// getsRoots reports whether a server gets the directories as roots. A remote server cannot
// use them.
func getsRoots(c mcp.Config) bool { return c.URL == "" || mcp.IsLoopback(hostOf(c.URL)) }

// ownDirectories returns the directories that a program may access besides the user's:
// @modelcontextprotocol/server-filesystem uses roots instead of its arguments.
func ownDirectories(c mcp.Config) []string {
	return slices.DeleteFunc(tools.AbsolutePaths(slices.Concat(c.Read, c.Write)), func(path string) bool { return !isDirectory(path) })
}

// addTo adds the roots and the server's own directories to a client, and returns the roots.
func (r *roots) addTo(client *sdk.Client, own []string) (directories []string) {
	var all []*sdk.Root
	directories = r.list()
	for _, f := range slices.Concat(directories, own) {
		all = append(all, &sdk.Root{URI: rootURI(f), Name: filepath.Base(f)})
	}
	client.AddRoots(all...)
	return directories
}

// update sends a client the changes of the roots since addTo returned given.
func (r *roots) update(client *sdk.Client, given, own []string) {
	now := r.list()
	if slices.Equal(now, given) {
		return
	}
	var gone []string
	for _, f := range given {
		if !slices.Contains(now, f) {
			gone = append(gone, rootURI(f))
		}
	}
	client.RemoveRoots(gone...)
	r.addTo(client, own)
}

// rootURI returns the file URI of a directory.
func rootURI(directory string) string {
	path := filepath.ToSlash(directory)
	if !strings.HasPrefix(path, "/") { // C:/…
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}
