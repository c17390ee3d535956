package snapshot

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/tools/openat"
)

// A blobID is the SHA-1 of a git blob: of its header and content.
type blobID [sha1.Size]byte

// blobOf returns the ID of content as a git blob, without git's filters.
func blobOf(content []byte) blobID {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return blobID(h.Sum(nil))
}

// gitObjects reads the object store of a repository. Its packs stay open, so that their content
// survives a command that deletes them. Repositories with SHA-256 object IDs are not supported.
type gitObjects struct {
	dirs  []string // object directories, the repository's own first
	packs []*pack
}

// maxPacks bounds the packs that are opened: each takes two file descriptors.
const maxPacks = 64

// openGit opens the object store of the repository that contains dir; nil if there is none.
func openGit(dir string) *gitObjects {
	for at := dir; ; at = filepath.Dir(at) {
		if git := gitDirAt(at); git != "" {
			return openObjects(filepath.Join(git, "objects"))
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// gitDirAt returns the git directory of the working tree at; for a linked worktree, the common
// directory (gitrepository-layout(5), commondir). It is "" if at is not a working tree.
func gitDirAt(at string) string {
	git := filepath.Join(at, ".git")
	info, err := os.Stat(git)
	if err != nil {
		return ""
	}
	if info.Mode().IsRegular() {
		link, ok := strings.CutPrefix(firstLine(git), "gitdir: ")
		if !ok {
			return ""
		}
		if git = link; !filepath.IsAbs(git) {
			git = filepath.Join(at, git)
		}
	}
	if common := firstLine(filepath.Join(git, "commondir")); common != "" {
		if git2 := common; filepath.IsAbs(git2) {
			git = git2
		} else {
			git = filepath.Join(git, git2)
		}
	}
	if info, err := os.Stat(filepath.Join(git, "objects")); err != nil || !info.IsDir() {
		return ""
	}
	return git
}

// firstLine returns the first line of a small file; "" if it cannot be read.
func firstLine(path string) string {
	f, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, 4<<10))
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimRight(line, "\r")
}

// openRegular opens a regular file. It never blocks, and refuses anything else.
func openRegular(path string) (*os.File, error) {
	return regular(os.OpenFile(path, openNoWait, 0))
}

// openNoWait opens a file for reading, and does not wait for the other end of a pipe.
const openNoWait = os.O_RDONLY | syscall.O_NONBLOCK

// regular returns an opened file; an error if it is not a regular file.
func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, openat.ErrNotRegular)
	}
	return f, nil
}

// openObjects opens the object directory dir and its alternates.
func openObjects(dir string) *gitObjects {
	g := &gitObjects{dirs: []string{dir}}
	if f, err := openRegular(filepath.Join(dir, "info", "alternates")); err == nil {
		text, _ := io.ReadAll(io.LimitReader(f, 16<<10))
		f.Close()
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				if !filepath.IsAbs(line) {
					line = filepath.Join(dir, line)
				}
				g.dirs = append(g.dirs, line)
			}
		}
	}
	for _, dir := range g.dirs {
		names, _ := filepath.Glob(filepath.Join(escapeGlob(dir), "pack", "pack-*.idx"))
		for _, name := range names {
			if len(g.packs) == maxPacks {
				break
			}
			if p, err := openPack(name); err == nil {
				g.packs = append(g.packs, p)
			}
		}
	}
	return g
}

func escapeGlob(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

func (g *gitObjects) close() {
	if g == nil {
		return
	}
	for _, p := range g.packs {
		p.index.Close()
		p.data.Close()
	}
	g.packs = nil
}

// loose returns the path of a loose object.
func loose(dir string, id blobID) string {
	name := hex.EncodeToString(id[:])
	return filepath.Join(dir, name[:2], name[2:])
}

// has reports whether git has an object. Only read checks whether it is intact.
func (g *gitObjects) has(id blobID) bool {
	if g == nil {
		return false
	}
	for _, p := range g.packs {
		if p.find(id) >= 0 {
			return true
		}
	}
	return slices.ContainsFunc(g.dirs, func(dir string) bool {
		info, err := os.Lstat(loose(dir, id))
		return err == nil && info.Mode().IsRegular()
	})
}

// read returns the content of a blob after checking its ID.
func (g *gitObjects) read(id blobID) ([]byte, error) {
	if g == nil {
		return nil, os.ErrNotExist
	}
	for _, p := range g.packs {
		if at := p.find(id); at >= 0 {
			budget := int64(maxInflated)
			if content, err := p.read(at, &budget, 0); err == nil && blobOf(content) == id {
				return content, nil
			}
		}
	}
	for _, dir := range g.dirs {
		if content, err := readLoose(loose(dir, id)); err == nil && blobOf(content) == id {
			return content, nil
		}
	}
	return nil, fmt.Errorf("git no longer has the object %x", id)
}

// readLoose returns the content of a loose object.
func readLoose(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(z, MaxBytes+1<<10))
	if err != nil {
		return nil, err
	}
	_, content, ok := bytes.Cut(text, []byte{0})
	if !ok {
		return nil, errors.New("an object without a header")
	}
	return content, nil
}
