package prompts

import (
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"parley/session/frontmatter"
)

// Program is the program that a file is written for.
type Program string

// The programs whose files are supported.
const (
	Parley   Program = "parley"
	Claude   Program = "claude"
	Opencode Program = "opencode"
	Codex    Program = "codex"
	Gemini   Program = "gemini"
)

// A Place is a directory with prompts.
type Place struct {
	Dir     string // absolute
	Program Program
	Project bool
}

// UserPlaces returns the places of a user's prompts, in search order. Own is parley's
// directory, config the user's configuration directory; "" for none.
func UserPlaces(own, config, home string) []Place {
	var places []Place
	add := func(p Program, base, path string) {
		if base != "" {
			places = append(places, Place{Dir: filepath.Join(base, path), Program: p})
		}
	}
	add(Parley, own, "")
	add(Claude, home, ".claude/commands")
	add(Opencode, config, "opencode/commands")
	add(Opencode, config, "opencode/command")
	add(Codex, home, ".codex/prompts")
	add(Gemini, home, ".gemini/commands")
	return places
}

// OwnPlaces returns the places of the user's prompts, whose own directory is the folder prompts beside parley's
// configuration; "" without a home.
func OwnPlaces(dir string) []Place {
	home, _ := os.UserHomeDir()
	config := ""
	if dir != "" {
		config = filepath.Dir(filepath.Dir(dir))
	}
	return UserPlaces(dir, config, home)
}

// ProjectPlaces returns the places of a project's prompts.
func ProjectPlaces(dir string) []Place {
	at := func(p Program, path string) Place { return Place{filepath.Join(dir, path), p, true} }
	return []Place{
		at(Parley, ".parley/prompts"), at(Claude, ".claude/commands"),
		at(Opencode, ".opencode/commands"), at(Opencode, ".opencode/command"), at(Gemini, ".gemini/commands"),
	}
}

// Bounds of the search.
const (
	maxDepth = 4    // nesting of directories
	maxFiles = 1000 // and directories
)

// Files returns the paths of the files in a place whose names are prompts', in order; none if
// the place does not exist.
func (p Place) Files() ([]string, error) {
	var found []string
	seen := 0
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if seen++; seen > maxFiles {
				return &Error{Path: p.Dir, Text: "it has very many files: those at the end are ignored"}
			}
			path := filepath.Join(dir, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case e.IsDir() && depth < maxDepth && p.Program != Codex:
				if err := walk(path, depth+1); err != nil {
					return err
				}
			case strings.EqualFold(filepath.Ext(e.Name()), p.extension()) && (e.Type().IsRegular() || e.Type() == fs.ModeSymlink && !p.Project):
				found = append(found, path)
			}
		}
		return nil
	}
	err := frontmatter.InDirectory(p.Dir, func() error { return walk(p.Dir, 1) })
	return found, err
}

func (p Place) extension() string {
	if p.Program == Gemini {
		return ".toml"
	}
	return ".md"
}

// nameOf returns the name of the prompt in a file of a place, or a problem with it. Directories
// become parts of the name.
func nameOf(p Place, path string) (name, problem string) {
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil {
		return "", "it is not in " + p.Dir
	}
	rel = filepath.ToSlash(rel)
	name = strings.ReplaceAll(strings.TrimSuffix(rel, filepath.Ext(rel)), "/", ":")
	if !ValidName(name) {
		return name, "its name consists of other characters than letters, digits, - and _: it cannot be typed as a command"
	}
	return name, ""
}

// ValidName reports whether name is a valid prompt name: letters, digits, - and _, in parts
// separated by colons.
func ValidName(name string) bool {
	const longest = 100
	bad := func(r rune) bool { return !isNameRune(r) && r != '-' }
	return len(name) <= longest && !slices.ContainsFunc(strings.Split(name, ":"), func(part string) bool {
		return part == "" || strings.ContainsFunc(part, bad) || part[0] == '-'
	})
}

// ProjectFiles returns the paths of the prompts of a project's directory.
func ProjectFiles(dir string) (paths []string, problems error) {
	for _, place := range ProjectPlaces(dir) {
		files, err := place.Files()
		paths, problems = append(paths, files...), errors.Join(problems, err)
	}
	return paths, problems
}

// ParseProject parses a file of ProjectFiles.
func ParseProject(path, text string) (Prompt, error) {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		for _, place := range ProjectPlaces(dir) {
			if rel, err := filepath.Rel(place.Dir, path); err == nil && filepath.IsLocal(rel) {
				return Parse(place, path, []byte(text))
			}
		}
		if dir == filepath.Dir(dir) {
			return Prompt{}, &Error{Path: path, Text: "it is in no folder of prompts"}
		}
	}
}

// Find reads the prompts of places. Of prompts with the same name, the first takes effect
// and the others follow it. Problems describe unusable files.
func Find(places []Place) (found []Prompt, problems []error) {
	for _, p := range places {
		files, err := p.Files()
		if err != nil {
			problems = append(problems, err)
		}
		for _, path := range files {
			is, err := Read(p, path)
			if err != nil {
				problems = append(problems, err)
				continue
			}
			found = append(found, is)
		}
	}
	return found, problems
}

// All is Find for the user's prompts, whose own directory is dir, followed by those of a project, which has their paths
// and texts.
func All(dir string, project iter.Seq2[string, string]) (found []Prompt, problems []error) {
	found, problems = Find(OwnPlaces(dir))
	for path, text := range project {
		is, err := ParseProject(path, text)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		found = append(found, is)
	}
	return found, problems
}

// ProblemOf returns the first problem with a file that would have this name; nil if there is
// none. Directories are ignored.
func ProblemOf(name string, problems []error) error {
	base := name[strings.LastIndexByte(name, ':')+1:]
	for _, err := range problems {
		if bad, ok := err.(*Error); ok && strings.TrimSuffix(filepath.Base(bad.Path), filepath.Ext(bad.Path)) == base {
			return bad
		}
	}
	return nil
}

// Read reads one file of a place.
func Read(p Place, path string) (Prompt, error) {
	data, err := frontmatter.ReadFile(path, MaxFile)
	if err != nil {
		return Prompt{}, &Error{Path: path, Text: cause(err)}
	}
	return Parse(p, path, data)
}

// cause returns the system's error without path and operation.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// Sort sorts prompts by name; those with the same name keep their order.
func Sort(found []Prompt) {
	sort.SliceStable(found, func(i, j int) bool { return found[i].Name < found[j].Name })
}
