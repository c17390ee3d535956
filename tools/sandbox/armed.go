package sandbox

import (
	"io/fs"
	"path"
	"regexp"
)

// arming are the files of a git folder that can name programs, and what in them
// does. Git needs to write them, as it does in a rebase that a command has begun:
// so they stay, and are told.
var arming = []struct {
	file   string
	names  *regexp.Regexp
	inside string // the folder in the git folder that it is in
}{
	{"git-rebase-todo", regexp.MustCompile(`(?m)^[ \t]*(exec|x)[ \t]`), "rebase-merge"},
	{"todo", regexp.MustCompile(`(?m)^[ \t]*(exec|x)[ \t]`), "sequencer"},
	{"attributes", regexp.MustCompile(`(?m)^[^#\n].*[ \t](filter|diff|merge)=`), "info"},
}

// armed are the files of git folders that are new, or have changed, and name
// programs that git would run, or may.
func (s *snapshot) armed(gitFolders []string) (files []string) {
	for _, gitFolder := range gitFolders {
		for _, a := range arming {
			dir := path.Join(gitFolder, a.inside)
			file := path.Join(dir, a.file)
			if s.mode(dir)&fs.ModeType == fs.ModeSymlink {
				file = dir // what it leads to may be anything
			}
			if !s.there(file) || !s.changed(dir) && !s.changed(file) {
				continue
			}
			if text, ok := s.text(file); !ok || a.names.MatchString(text) {
				files = append(files, file)
			}
		}
	}
	return files
}
