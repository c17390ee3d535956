package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"parley/tools/atomicfile"
	"parley/tools/sanitize"
)

// Revised returns when the facts in data/ were last reviewed. Lists fetched later are newer.
func Revised() time.Time { return time.Date(2026, time.November, 29, 0, 0, 0, 0, time.UTC) }

// StaleAfter is the age at which facts should be fetched again.
const StaleAfter = 60 * 24 * time.Hour

// Bounds of a FactsFile.
const (
	maxFactsFile  = 8 << 20 // bytes
	maxListModels = 10_000  // of one list
	maxLists      = 100
)

// factsVersion is the version of the file format.
const factsVersion = 1

// A List is the fetched list of models of one service.
type List struct {
	Provider string    `json:"provider"` // name of the service
	URL      string    `json:"url"`      // base URL of the service; the list does not apply to other URLs
	Fetched  time.Time `json:"fetched"`
	Models   []Facts   `json:"-"`

	Media json.RawMessage `json:"media,omitempty"` // a [Media], as returned by EncodeMedia
}

// Newer reports whether l was fetched after the built-in facts were revised.
func (l List) Newer() bool { return l.Fetched.After(Revised()) }

// FactsFile holds fetched facts in a file of JSON lines:
//
//	{"version":1}
//	{"provider":"groq","url":"https://…","fetched":"2026-11-22T12:00:00Z"}
//	{"id":"openai/gpt-oss-120b","context":131072}
//
// The file is read at the first call that needs it, and a model's line is decoded when that model is
// looked up. A nil FactsFile is empty.
type FactsFile struct {
	path string
	read func() parsedFacts
}

// parsedFacts is the content of a file, or why it is unusable.
type parsedFacts struct {
	lists map[string]*storedList // by the name of the service
	err   error
}

// storedList is one list in the file.
type storedList struct {
	List
	ids   []string          // in the order of the file
	lines map[string]string // by id
	media func() Media
}

// FactsPath returns the path for OpenFactsFile in the directory of the file library.
func FactsPath(library string) string { return filepath.Join(filepath.Dir(library), "models.jsonl") }

// OpenFactsFile returns the facts in the file at path, without reading it yet. A missing file is
// empty.
func OpenFactsFile(path string) *FactsFile {
	return &FactsFile{path, sync.OnceValue(func() parsedFacts { return readFactsFile(path) })}
}

// Path returns the path of the file.
func (k *FactsFile) Path() string { return k.path }

// Err returns why the file is unusable; nil if it is usable or does not exist.
func (k *FactsFile) Err() error {
	if k == nil {
		return nil
	}
	return k.read().err
}

// Fetched returns when the newest list was fetched; zero if there is none.
func (k *FactsFile) Fetched() (at time.Time) {
	if k != nil {
		for _, l := range k.read().lists {
			if l.Fetched.After(at) {
				at = l.Fetched
			}
		}
	}
	return at
}

// Stale reports whether facts should be fetched again. It also returns the time of the newest
// facts: of the newest list, or Revised if that is later.
func (k *FactsFile) Stale(now time.Time) (of time.Time, stale bool) {
	if of = k.Fetched(); of.Before(Revised()) {
		of = Revised()
	}
	return of, now.Sub(of) > StaleAfter
}

// Find returns the facts of a model in the stored list of a service, and whether they are newer
// than the built-in ones. It returns ok false if there are none.
func (k *FactsFile) Find(service, url, id string) (f Facts, newer, ok bool) {
	l := k.list(service, url)
	if l == nil {
		return Facts{}, false, false
	}
	f, ok = l.decode(id)
	return f, l.Newer(), ok
}

// IDs returns the model ids in the stored list of a service, in its order.
func (k *FactsFile) IDs(service, url string) []string {
	l := k.list(service, url)
	if l == nil {
		return nil
	}
	return l.ids
}

// list returns the list of a service at an address; nil if there is none.
func (k *FactsFile) list(service, url string) *storedList {
	if k == nil {
		return nil
	}
	if l := k.read().lists[service]; l != nil && l.URL == url {
		return l
	}
	return nil
}

// decode returns the facts of a model. It checks them again, since any program may have written the
// file.
func (l *storedList) decode(id string) (Facts, bool) {
	line, ok := l.lines[id]
	var f Facts
	if !ok || json.Unmarshal([]byte(line), &f) != nil || f.ID != id {
		return Facts{}, false
	}
	f, _ = f.Check()
	return f, f.ID != ""
}

// all returns the whole list.
func (l *storedList) all() List {
	list := l.List
	for _, id := range l.ids {
		if f, ok := l.decode(id); ok {
			list.Models = append(list.Models, f)
		}
	}
	return list
}

// Beginnings of lines.
const (
	listLine  = `{"provider":`
	modelLine = `{"id":"`
)

// readFactsFile reads the file at path, without decoding the lines of models.
func readFactsFile(path string) parsedFacts {
	fail := func(err error) parsedFacts { return parsedFacts{err: fmt.Errorf("%s: %w", path, err)} }
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return parsedFacts{}
	case err != nil:
		return parsedFacts{err: err}
	case !info.Mode().IsRegular():
		return fail(errors.New("not a regular file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return parsedFacts{err: err}
	}
	defer func() { _ = file.Close() }()
	var read strings.Builder
	read.Grow(int(min(info.Size(), maxFactsFile)) + 1)
	if _, err := io.Copy(&read, io.LimitReader(file, maxFactsFile+1)); err != nil {
		return parsedFacts{err: err}
	}
	found, err := parseFactsFile(read.String())
	if err != nil {
		return fail(err)
	}
	return found
}

// parseFactsFile parses the text of a file, without decoding the lines of models.
func parseFactsFile(text string) (parsedFacts, error) {
	fail := func(err error) (parsedFacts, error) { return parsedFacts{}, err }
	if len(text) > maxFactsFile {
		return fail(fmt.Errorf("more than %d MiB", maxFactsFile>>20))
	}
	head, _, _ := strings.Cut(text, "\n")
	var is struct {
		Version int `json:"version"`
	}
	if json.Unmarshal([]byte(head), &is) != nil || is.Version < 1 {
		return fail(errors.New("not a file of model facts"))
	}
	if is.Version != factsVersion {
		return fail(fmt.Errorf("its format is %d, and this parley knows %d", is.Version, factsVersion))
	}
	found := parsedFacts{lists: map[string]*storedList{}}
	for _, part := range strings.Split(text, "\n"+listLine)[1:] {
		head, rows, _ := strings.Cut(part, "\n")
		l := &storedList{lines: map[string]string{}}
		if json.Unmarshal([]byte(listLine+head), &l.List) != nil || l.Provider == "" || len(found.lists) >= maxLists {
			return fail(errors.New("damaged"))
		}
		l.index(rows)
		l.media = sync.OnceValue(func() Media { return decodeMedia(l.Media) })
		found.lists[l.Provider] = l
	}
	return found, nil
}

// index adds the lines of models.
func (l *storedList) index(rows string) {
	for line := range strings.SplitSeq(rows, "\n") {
		rest, ok := strings.CutPrefix(line, modelLine)
		id, _, whole := strings.Cut(rest, `"`)
		if _, twice := l.lines[id]; !ok || !whole || twice || !isPlainID(id) || len(l.ids) >= maxListModels {
			continue
		}
		l.lines[id] = line
		l.ids = append(l.ids, id)
	}
}

// save atomically replaces the file with lists.
func (k *FactsFile) save(lists []List) error {
	b, err := encodeLists(lists)
	if err != nil {
		return err
	}
	if b.Len() > maxFactsFile {
		return fmt.Errorf("%s: it would have more than %d MiB", sanitize.Line(k.path), maxFactsFile>>20)
	}
	return atomicfile.Replace(k.path, b.Bytes())
}

// encodeLists returns lists in the format of the file.
func encodeLists(lists []List) (*bytes.Buffer, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"version\":%d}\n", factsVersion)
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // ids are searched for unescaped
	for _, l := range lists {
		if err := out.Encode(l); err != nil {
			return nil, err
		}
		for _, f := range l.Models {
			if err := out.Encode(f); err != nil {
				return nil, err
			}
		}
	}
	return &b, nil
}
