package undo

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
)

// A blobID names a blob of git: the SHA-1 of its header and content.
type blobID [sha1.Size]byte

// blobOf returns the name that git gives content, as it is: without filters.
func blobOf(content []byte) blobID {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(content))
	h.Write(content)
	return blobID(h.Sum(nil))
}

// gitObjects is the object store of a repository, which is only read. Its packs stay open, so
// that a command that deletes them takes nothing away. Repositories with SHA-256 names hold
// nothing for us.
type gitObjects struct {
	dirs  []string // of objects, the repository's own first
	packs []*pack
}

// maxPacks is how many packs are looked into: each takes two open files.
const maxPacks = 64

// openGit opens the object store of the repository that dir is in; nil if there is none.
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

// gitDirAt returns the git directory of the working tree at, with what all of its worktrees
// share; "" if at is none.
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

// openRegular opens a regular file, and never waits.
func openRegular(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	return f, nil
}

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

// loose returns where a loose object would be.
func loose(dir string, id blobID) string {
	name := hex.EncodeToString(id[:])
	return filepath.Join(dir, name[:2], name[2:])
}

// has reports whether git holds an object. What it reads as is not known before read.
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

// read returns the content of a blob. It is what its name says, or there is an error.
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
