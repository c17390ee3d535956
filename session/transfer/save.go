package transfer

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/session/attach"
	"parley/session/store"
	"parley/tools/atomicfile"
)

// Formats are the formats for writing conversations.
type Formats []Format

// Find returns a format by name, ignoring case; markdown is an alias of md.
func (all Formats) Find(name string) (Format, error) {
	var names []string
	for _, f := range all {
		if strings.EqualFold(f.Name, name) || f.Name == "md" && strings.EqualFold(name, "markdown") {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return Format{}, fmt.Errorf("unknown format %q: use %s", name, strings.Join(names, ", "))
}

// Save writes c to a new file in folder, mode 0600, and returns its path. If path is empty, the title
// is the name.
func (f Format) Save(c Conversation, path, folder string) (string, error) {
	if path == "" {
		path = fileName(c.Session) + "." + f.Name
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, path)
	}
	return path, f.WriteFile(path, c)
}

// WriteFile writes a conversation to a new file that only its owner can read. The file appears
// when it is complete. If path exists, the error is [fs.ErrExist].
func (f Format) WriteFile(path string, c Conversation) error {
	return atomicfile.Create(path, func(file *os.File) error { return f.Write(file, c) })
}

// fileName derives a file name from a conversation's title.
func fileName(about store.Session) string {
	return cmp.Or(attach.Slug(about.Title), plainID(about), "conversation")
}

// plainID returns the letters and digits of a conversation's ID, which is arbitrary for an
// imported one.
func plainID(about store.Session) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, about.ID)
}

// UniqueName returns a file name that identifies a conversation: its day, title and ID.
func UniqueName(about store.Session) string {
	return strings.Join([]string{about.Created.Format(time.DateOnly), fileName(about), plainID(about)}, "-")
}
