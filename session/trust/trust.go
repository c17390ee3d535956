// Package trust knows what a directory would add to parley, and whether the user
// agreed to it. A repository is a stranger's until its owner's words are let in.
//
//	Look(directory) ──► Offer: AGENTS.md up the tree, .parley/config.toml, .mcp.json
//	                   │ Digest of path and content
//	                   ├──► Decided ──► nothing known: show it, and ask; the default is no
//	                   └──► Context (for the system prompt), Config, Servers, once trusted
//
// Nothing that Look finds is acted on before a user said yes to exactly these
// bytes at exactly this path: a changed file, a moved directory, another directory
// behind a link are asked about anew. Even then a directory's configuration cannot
// say where requests go, with which key, or what may run unasked.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"parley/tools"
)

// Bounds of a file, and of all files for the model together, in bytes.
const (
	maxFile   = 32 << 10
	maxPrompt = 64 << 10
)

// A Kind reports what a file does.
type Kind string

// The kinds.
const (
	Instructions  Kind = "instructions"  // told to the model
	Configuration Kind = "configuration" // settings of parley, as TOML
	Servers       Kind = "servers"       // programs that parley would start, as JSON
)

// The names of the files, as they are looked for.
const (
	agents = "AGENTS.md"
	config = ".parley/config.toml"
	mcp    = ".mcp.json"
)

// A File is something a directory would add.
type File struct {
	Kind Kind
	Path string // absolute
	Name string // relative to the directory, with slashes
	Text string // clean for a model where it is for one, otherwise as it is
	Note string // what was left out of it; "" if nothing was
}

// An Project holds everything a directory would add.
type Project struct {
	Dir    string // absolute, without links
	Files  []File // instructions from the outermost directory to the innermost, then the rest
	Digest string // of Folder and of the files' bytes
}

// Empty reports whether there is nothing to ask about.
func (o Project) Empty() bool { return len(o.Files) == 0 }

// Load reads what directory would add. Instructions are looked for up to the root
// of the repository that the directory is in; without one, in the directory alone.
// What cannot be read, or is no regular file, is an error that names it.
func Load(folder string) (Project, error) {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return Project{}, fmt.Errorf("what %s adds: %w", folder, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return Project{}, err
	}
	o := Project{Dir: real}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", len(real), real)
	var wrong error
	take := func(kind Kind, path string) {
		data, cut, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return
		case err != nil:
			wrong = errors.Join(wrong, err)
			return
		}
		name, err := filepath.Rel(real, path)
		if err != nil {
			name = path
		}
		f := File{Kind: kind, Path: path, Name: filepath.ToSlash(name), Text: string(data)}
		clean, notes := tools.Sanitize(f.Text)
		switch {
		case kind == Instructions:
			f.Text, f.Note = clean, strings.Join(notes, " ")
		case len(notes) > 0:
			wrong = errors.Join(wrong, fmt.Errorf("%s is not used: it contains invisible characters: %s", f.Name, strings.Join(notes, " ")))
			return
		}
		if cut {
			f.Note = strings.TrimSpace(fmt.Sprintf("%s [only its first %d KB count]", f.Note, maxFile>>10))
		}
		fmt.Fprintf(sum, "%s %d %s %d\n", kind, len(path), path, len(data))
		sum.Write(data)
		o.Files = append(o.Files, f)
	}
	for _, dir := range ancestors(real) {
		take(Instructions, filepath.Join(dir, agents))
	}
	take(Configuration, filepath.Join(real, filepath.FromSlash(config)))
	take(Servers, filepath.Join(real, mcp))
	o.Digest = hex.EncodeToString(sum.Sum(nil))
	return o, wrong
}

// ancestors returns the directories from the root of the repository down to directory.
func ancestors(folder string) []string {
	dirs := []string{folder}
	for dir := folder; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			slices.Reverse(dirs)
			return dirs
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return []string{folder}
		}
		dir = parent
		dirs = append(dirs, dir)
	}
}

// read returns the beginning of a regular file, and whether there is more.
func read(path string) (data []byte, cut bool, err error) {
	info, err := os.Lstat(path) // a link may lead to what a stranger should not have a model told
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe does not wait for its other end
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) { // it was exchanged in between
		return nil, false, errors.Join(err, fmt.Errorf("%s changed while it was read", path))
	}
	data, err = io.ReadAll(io.LimitReader(f, maxFile+1))
	if len(data) > maxFile {
		return data[:maxFile], true, err
	}
	return data, false, err
}

// A Store keeps decisions; session.Library is one.
type Store interface {
	Get(key string) (string, error)
	Set(key, value string) error
}

func key(o Project) string { return "trust:" + o.Dir }

// Decision returns what the user decided about exactly this offer; not known if
// they were not asked yet, or if anything of it has changed since.
func Decision(m Store, o Project) (yes, known bool) {
	kept, err := m.Get(key(o))
	if err != nil {
		return false, false
	}
	digest, word, _ := strings.Cut(kept, " ")
	return word == "yes", digest == o.Digest
}

// SaveDecision keeps the user's word on o.
func SaveDecision(m Store, o Project, yes bool) error {
	word := "no"
	if yes {
		word = "yes"
	}
	return m.Set(key(o), o.Digest+" "+word)
}

// FilesOf returns the files of a kind.
func (o Project) FilesOf(kind Kind) []File {
	var files []File
	for _, f := range o.Files {
		if f.Kind == kind {
			files = append(files, f)
		}
	}
	return files
}

// PromptContext returns what the model is told of a trusted directory, to stand behind the
// system prompt; "" if that is nothing. The innermost instructions come last,
// for they count most, and are the last to be left out.
func (o Project) PromptContext() string {
	files := o.FilesOf(Instructions)
	room := maxPrompt
	kept := len(files)
	for kept > 0 && len(files[kept-1].Text) <= room {
		room -= len(files[kept-1].Text)
		kept--
	}
	var b strings.Builder
	for _, f := range files[kept:] {
		if b.Len() == 0 {
			b.WriteString("The person trusts this folder. Its instructions follow; where they disagree, the later ones count, and what the person says counts most.\n")
		}
		fmt.Fprintf(&b, "\n<instructions file=%q>\n%s\n</instructions>\n", f.Name, strings.TrimSpace(f.Text))
	}
	return b.String()
}

// Review returns what a user is asked, with everything they agree to: no is the
// safe answer.
func (o Project) Review() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Do you trust %s?\n\nThis folder contains settings for parley. They are ignored unless you trust it.\n", o.Dir)
	does := map[Kind]string{Instructions: "instructions for the model", Configuration: "settings for this folder", Servers: "MCP servers (start now)"}
	for _, f := range o.Files {
		fmt.Fprintf(&b, "\n── %s: %s", f.Name, does[f.Kind])
		if f.Note != "" {
			fmt.Fprintf(&b, " %s", f.Note)
		}
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(f.Text))
	}
	return b.String()
}
