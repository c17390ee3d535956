// Package trust reads the settings that a directory would add to parley, and the user's
// decision about them. A repository is untrusted until the user approves it.
//
//	Load(directory) ──► Project: AGENTS.md, CLAUDE.md, GEMINI.md up the tree with their imports, .parley/config.toml, .mcp.json, prompts, skills
//	                   │ Digest of path and content
//	                   ├──► Decision ──► nothing known: show it, and ask; the default is no
//	                   └──► PromptContext (for the system prompt), Config, Servers, once trusted
//
// Nothing from Load takes effect before the user approves exactly these bytes at exactly
// this path: a changed file, a moved directory, or another link target needs a new
// approval. Even then a directory's configuration cannot determine where requests go,
// with which key, or what may run without approval.
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

	"parley/session/instructions"
	"parley/tools"
)

// Bounds of a file, and of all files for the model together, in bytes.
const (
	maxFile = 32 << 10

	maxExtra  = 256 << 10 // of a prompt or a skill
	maxExtras = 4 << 20   // of all prompts and skills
	maxReview = 64 << 10  // of their parts shown in a review
)

// A Kind is the purpose of a file.
type Kind string

// The kinds.
const (
	Instructions  Kind = "instructions"  // sent to the model
	Configuration Kind = "configuration" // settings of parley, as TOML
	Hooks         Kind = "hooks"         // programs that parley runs on events, as TOML
	Servers       Kind = "servers"       // programs that parley would start, as JSON
	Skills        Kind = "skills"        // listed to the model, which loads them on demand
	Memory        Kind = "memory"        // lines of the user's, sent to the model; see ReadMemory
	Prompts       Kind = "prompts"       // sent when the user types the name; may run commands, which need approval
)

// The names of the files, as they are looked for.
const (
	ConfigName = ".parley/config.toml"
	HooksName  = ".parley/hooks.toml"
	MemoryName = ".parley/memory.md"

	mcp = ".mcp.json"
)

// A File is a file that a directory would add.
type File struct {
	Kind Kind
	Path string // absolute
	Name string // relative to the directory, with slashes
	Text string // sanitized if it is for a model, otherwise unchanged
	Note string // about parts left out; "" if there are none
}

// A Finder finds the files of a kind, prompts or skills, in one of the directories of a project.
type Finder struct {
	Kind  Kind
	Files func(dir string) (paths []string, err error)
}

// A Project holds everything a directory would add.
type Project struct {
	Dir    string // absolute, without links
	Files  []File // instructions from the outermost directory to the innermost, then the rest
	Digest string // of Dir and of the files' bytes

	root string // of the repository; Dir where there is none
}

// Empty reports whether there is nothing to approve.
func (o Project) Empty() bool { return len(o.Files) == 0 }

// Load reads everything that directory would add. It searches instructions up to the root of the
// repository, or without one in directory only. A file that cannot be read, or is not regular,
// is an error that names it. Withheld reports whether instructions may not import the file with
// an absolute path; nil: they may import any. Extras find prompts and skills; the digest covers them in this order.
func Load(directory string, withheld func(path string) bool, extras ...Finder) (Project, error) {
	real, err := filepath.EvalSymlinks(directory)
	if err != nil {
		return Project{}, fmt.Errorf("what %s adds: %w", directory, err)
	}
	if real, err = filepath.Abs(real); err != nil {
		return Project{}, err
	}
	dirs := ancestors(real)
	o := Project{Dir: real, root: dirs[0]}
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s\n", len(real), real)
	var wrong error
	take := func(kind Kind, path string) {
		data, cut, err := read(path, kind.limit())
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
			imported := imports{root: o.root, sum: sum, withheld: withheld}
			f.Text, f.Note = imported.expand(path, clean, notes)
		case kind == Prompts, kind == Skills, kind == Memory:
			f.Text, f.Note = clean, strings.Join(notes, " ")
		case len(notes) > 0:
			wrong = errors.Join(wrong, fmt.Errorf("%s is not used: it contains invisible characters: %s", f.Name, strings.Join(notes, " ")))
			return
		}
		if cut && kind.limit() > maxFile {
			wrong = errors.Join(wrong, fmt.Errorf("%s is not used: it has more than %d KB", f.Name, kind.limit()>>10))
			return
		}
		if cut {
			f.Note = strings.TrimSpace(fmt.Sprintf("%s [only its first %d KB count]", f.Note, maxFile>>10))
		}
		sumFile(sum, kind, path, data)
		o.Files = append(o.Files, f)
	}
	for _, dir := range dirs {
		if path := instructions.Find(dir); path != "" {
			take(Instructions, path)
		}
	}
	wrong = errors.Join(wrong, o.extend(dirs, extras, take))
	sumNamed(sum, o)
	o.Digest = hex.EncodeToString(sum.Sum(nil))
	return o, wrong
}

// sumFile adds a file to the digest of its directory. Lines to remember have a decision of their own.
func sumFile(sum io.Writer, kind Kind, path string, data []byte) {
	if kind != Memory {
		fmt.Fprintf(sum, "%s %d %s %d\n%s", kind, len(path), path, len(data), data)
	}
}

// limit is the largest size of a file in bytes; the rest is ignored.
func (k Kind) limit() int {
	if k == Prompts || k == Skills {
		return maxExtra
	}
	return maxFile
}

// extend adds the settings of the innermost directory, and the prompts and skills of all
// directories, innermost first. It returns why some were left out.
func (o *Project) extend(dirs []string, extras []Finder, take func(kind Kind, path string)) (wrong error) {
	take(Configuration, filepath.Join(o.Dir, filepath.FromSlash(ConfigName)))
	take(Hooks, filepath.Join(o.Dir, filepath.FromSlash(HooksName)))
	take(Servers, filepath.Join(o.Dir, mcp))
	take(Memory, filepath.Join(o.Dir, filepath.FromSlash(MemoryName)))
	for _, dir := range slices.Backward(dirs) {
		for _, f := range extras {
			files, err := f.Files(dir)
			wrong = errors.Join(wrong, err)
			for _, path := range files {
				if o.extras() > maxExtras {
					wrong = errors.Join(wrong, fmt.Errorf("%s is not used: the %s of this folder have more than %d MB", path, f.Kind, maxExtras>>20))
					break
				}
				take(f.Kind, path)
			}
		}
	}
	return wrong
}

// extras returns the total bytes of the prompts and skills.
func (o Project) extras() (size int) {
	for i := range o.Files {
		if k := o.Files[i].Kind; k == Prompts || k == Skills {
			size += len(o.Files[i].Text)
		}
	}
	return size
}

// Names briefly lists the kinds of files.
func (o Project) Names() string {
	var names []string
	for _, f := range o.Files {
		if f.Kind != Prompts && f.Kind != Skills {
			names = append(names, f.Name)
		}
	}
	for _, kind := range []Kind{Prompts, Skills} {
		switch n := len(o.FilesOfKind(kind)); n {
		case 0:
		case 1:
			names = append(names, "1 "+strings.TrimSuffix(string(kind), "s"))
		default:
			names = append(names, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(names, ", ")
}

// ancestors returns the directories from the root of the repository down to directory.
func ancestors(directory string) []string {
	dirs := []string{directory}
	for dir := directory; ; {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			slices.Reverse(dirs)
			return dirs
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return []string{directory}
		}
		dir = parent
		dirs = append(dirs, dir)
	}
}

// ReadMemory returns the lines to remember in a directory, "" for none, and a Project of them alone: a decision about
// the directory includes one about its lines, and the user's own changes of them need no other.
func ReadMemory(directory string) (text string, o Project, err error) {
	real, err := filepath.EvalSymlinks(directory)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", o, err
	}
	data, _, err := read(filepath.Join(real, filepath.FromSlash(MemoryName)), maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", o, err
	}
	text, _ = tools.Sanitize(string(data))
	return text, memoryOf(real, text), nil
}

// memoryOf returns the Project of lines to remember.
func memoryOf(dir, text string) Project {
	return Project{Dir: dir + " memory", Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
}

// WithoutMemory returns o without its lines to remember.
func (o Project) WithoutMemory() Project {
	files := o.Files
	o.Files = nil
	for _, f := range files {
		if f.Kind != Memory {
			o.Files = append(o.Files, f)
		}
	}
	return o
}

// isReal reports whether no part of a directory's path is a link.
func isReal(dir string) bool {
	real, err := filepath.EvalSymlinks(dir)
	return err == nil && real == dir
}

// read returns the beginning of a regular file, and whether it is longer.
func read(path string, most int) (data []byte, cut bool, err error) {
	info, err := os.Lstat(path) // a link may lead to a file that the model should not get
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	}
	if dir := filepath.Dir(path); !isReal(dir) { // its files are not part of the repository
		return nil, false, fmt.Errorf("%s is not used: a link leads to it", path)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the other end of a pipe
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) { // replaced in between
		return nil, false, errors.Join(err, fmt.Errorf("%s changed while it was read", path))
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(most)+1))
	if len(data) > most {
		return data[:most], true, err
	}
	return data, false, err
}

// Server returns a server that an editor adds to a directory, with that name and definition, for
// Decision and SaveDecision.
func Server(directory, name, definition string) Project {
	o := Project{Dir: directory, Files: []File{{Kind: Servers, Name: name, Text: definition}}}
	sum := sha256.New()
	fmt.Fprintf(sum, "server %d %s %s", len(name), name, definition)
	sumNamed(sum, o)
	o.Dir, o.Digest = o.Dir+" server "+name, hex.EncodeToString(sum.Sum(nil))
	return o
}

// A Store stores decisions; *store.DB implements it.
type Store interface {
	Get(key string) (string, error)
	Set(key, value string) error
}

func key(o Project) string { return "trust:" + o.Dir }

// Decision returns the user's decision about exactly these files; known is false if there is
// none, or a file has changed since.
func Decision(m Store, o Project) (yes, known bool) {
	kept, err := m.Get(key(o))
	if err != nil {
		return false, false
	}
	digest, word, _ := strings.Cut(kept, " ")
	yes, known = word == "yes", digest == o.Digest
	if lines := o.FilesOfKind(Memory); yes && known && len(lines) > 0 {
		return Decision(m, memoryOf(o.Dir, lines[0].Text))
	}
	return yes, known
}

// SaveDecision stores the user's decision about o.
func SaveDecision(m Store, o Project, yes bool) error {
	word := "no"
	if yes {
		word = "yes"
	}
	if lines := o.FilesOfKind(Memory); len(lines) > 0 || o.root != "" && !yes {
		text := ""
		if len(lines) > 0 {
			text = lines[0].Text
		}
		if err := SaveDecision(m, memoryOf(o.Dir, text), yes); err != nil {
			return err
		}
	}
	return m.Set(key(o), o.Digest+" "+word)
}

// FilesOfKind returns the files of a kind.
func (o Project) FilesOfKind(kind Kind) []File {
	var files []File
	for _, f := range o.Files {
		if f.Kind == kind {
			files = append(files, f)
		}
	}
	return files
}

// maxNamed is how many bytes of a file named by hooks and servers are hashed; a larger file is
// represented by its size and time.
const maxNamed = 4 << 20

// sumNamed adds to the digest the files of the directory named by its hooks and servers, as words
// between blanks, quotes and shell operators. A hook with a changed script needs a new approval,
// because hooks and servers run without asking.
func sumNamed(sum io.Writer, o Project) {
	dir, text := o.Dir, ""
	for _, f := range slices.Concat(o.FilesOfKind(Hooks), o.FilesOfKind(Servers)) {
		text += f.Text + "\n"
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune("\"'`,;|&()[]{}<>=$", r) }) {
		name := filepath.Clean(strings.TrimPrefix(filepath.FromSlash(word), dir+string(filepath.Separator)))
		if !filepath.IsLocal(name) {
			continue
		}
		path := filepath.Join(dir, name)
		data, cut, err := read(path, maxNamed)
		if err != nil {
			continue
		}
		fmt.Fprintf(sum, "named %d %s %d\n", len(name), name, len(data))
		_, _ = sum.Write(data)
		if info, err := os.Stat(path); cut && err == nil {
			fmt.Fprintf(sum, "and %d %d\n", info.Size(), info.ModTime().UnixNano())
		}
	}
}
