package files

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Completion holds options for completing a path.
type Completion struct {
	Directory       string // base of relative paths
	DirectoriesOnly bool   // complete only directories
	Limit           int    // maximum number of results
}

// Complete returns completions of typed, the beginning of a path, directories first, as shells do: the
// names in its directory that begin with its last part, ignoring case if there are none otherwise. Hidden
// names are included if the last part begins with a dot; ~ is the user's home. Results keep the typed
// beginning. It reads one directory, at most its first 1,000,000 names, and may take long on slow disks.
func Complete(typed string, c Completion) []File {
	if typed == "~" {
		return []File{{"~", true}}
	}
	at := strings.LastIndexByte(filepath.ToSlash(typed), '/') + 1
	front, begin := typed[:at], typed[at:]
	names, folded := matching(c.located(front), begin, c.DirectoriesOnly)
	if len(names) == 0 {
		names = folded
	}
	if begin != "" && strings.HasPrefix("..", begin) {
		names = append(names, File{"..", true})
	}
	slices.SortFunc(names, func(a, b File) int {
		if a.IsDirectory != b.IsDirectory {
			return map[bool]int{true: -1, false: 1}[a.IsDirectory]
		}
		return cmp.Compare(a.Path, b.Path)
	})
	names = names[:min(len(names), c.Limit)]
	for i := range names {
		names[i].Path = front + names[i].Path
	}
	return names
}

// located returns the location of the directory typed as front.
func (c Completion) located(front string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(front), "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return front // does not exist
		}
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(front) {
		return front
	}
	return filepath.Join(c.Directory, front)
}

// matching returns the names in folder that begin with begin, and those that do so only ignoring case.
func matching(folder, begin string, foldersOnly bool) (exact, folded []File) {
	dir, err := os.OpenFile(folder, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, nil
	}
	defer dir.Close()
	const batch = 1000
	for looked := 0; looked < maxEntries; looked += batch {
		entries, err := dir.ReadDir(batch)
		for _, e := range entries {
			name := e.Name()
			if len(name) < len(begin) || !strings.EqualFold(name[:len(begin)], begin) || name[0] == '.' && begin == "" || !speakable(name) || !isFile(e.Type()) {
				continue
			}
			file := File{name, leadsToFolder(folder, e)}
			switch {
			case foldersOnly && !file.IsDirectory:
			case strings.HasPrefix(name, begin):
				exact = append(exact, file)
			default:
				folded = append(folded, file)
			}
		}
		if err != nil || len(entries) == 0 {
			break
		}
	}
	return exact, folded
}

// leadsToFolder reports whether e is a directory, or a link to one.
func leadsToFolder(folder string, e fs.DirEntry) bool {
	if e.Type() != fs.ModeSymlink {
		return e.IsDir()
	}
	info, err := os.Stat(filepath.Join(folder, e.Name()))
	return err == nil && info.IsDir()
}

// MayLeaveWorkspace reports whether typed begins like a path that may leave the workspace, where an Index
// has no names.
func MayLeaveWorkspace(typed string) bool {
	return strings.HasPrefix(typed, "~/") || typed == "~" || strings.HasPrefix(typed, "..") || strings.HasPrefix(typed, "./") || strings.HasPrefix(filepath.ToSlash(typed), "/") || filepath.IsAbs(typed)
}
