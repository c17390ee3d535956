package providers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"parley/providers/adapter"
)

// Bounds of the file of learned limits. Anything beyond them is dropped: each limit only saves a
// request.
const (
	maxLearnedFile   = 1 << 20 // bytes
	maxLearnedModels = 200
	maxLearnedLimits = 64  // of one model
	maxLearnedText   = 200 // bytes of a name or of a replacement value
)

// LearnedPath returns the file for OpenMemory: parley/learned.json in $XDG_CACHE_HOME, in
// %LocalAppData% on Windows, or in .cache of the home directory; "" if there is neither.
func LearnedPath(getenv func(string) string) string {
	dir := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) { // relative paths are ignored (XDG Base Directory)
		dir = getenv("LOCALAPPDATA")
	}
	if !filepath.IsAbs(dir) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(dir, "parley", "learned.json")
}

// A learnedFile stores learned limits between runs of the program. It is a cache: an invalid file
// is read as empty and rewritten.
type learnedFile struct {
	path    string
	replace func(path string, content []byte) error // nil if limits are not written
	mu      sync.Mutex
}

// learnedModels holds limits by learnedKey, then by name.
type learnedModels map[string]map[string]adapter.Limit

// learnedJSON is the file. Times are Unix seconds.
type learnedJSON struct {
	Version int                             `json:"version"`
	Models  map[string]map[string]limitJSON `json:"models"`
}

type limitJSON struct {
	Becomes string `json:"becomes,omitempty"`
	At      int64  `json:"at"`
}

const learnedVersion = 1

// learnedKey returns the file's key for a model at an address: a hash, since addresses and names
// may be private.
func learnedKey(kind string, at servedModel) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + at.url + "\x00" + at.model))
	return hex.EncodeToString(sum[:16])
}

// requiredFields lists fields that a request needs. Limits in the file cannot remove them.
var requiredFields = []string{"model", "messages", "input", "contents", "stream"}

// read returns the limits in the file that have not expired.
func (f *learnedFile) read(now time.Time) learnedModels {
	found := learnedModels{}
	if info, err := os.Lstat(f.path); err != nil || !info.Mode().IsRegular() {
		return found
	}
	file, err := os.Open(f.path)
	if err != nil {
		return found
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxLearnedFile+1))
	var stored learnedJSON
	if err != nil || len(text) > maxLearnedFile || json.Unmarshal(text, &stored) != nil || stored.Version != learnedVersion {
		return found
	}
	for key, limits := range stored.Models {
		for name, limit := range limits {
			l := adapter.Limit{Becomes: limit.Becomes, At: time.Unix(limit.At, 0), Lasting: true}
			if !l.Fresh(now) || len(name) > maxLearnedText || len(l.Becomes) > maxLearnedText || slices.Contains(requiredFields, name) {
				continue
			}
			if found[key] == nil {
				found[key] = map[string]adapter.Limit{}
			}
			found[key][name] = l
		}
	}
	return found
}

// write replaces the limits under key and drops expired ones. It ignores errors: the next refusal
// teaches the same limit.
func (f *learnedFile) write(key string, limits map[string]adapter.Limit, now time.Time) {
	if f.replace == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.read(now) // another run may have written meanwhile
	all[key] = limits
	stored := learnedJSON{learnedVersion, map[string]map[string]limitJSON{}}
	for _, key := range newestKeys(all, maxLearnedModels, latest) {
		stored.Models[key] = map[string]limitJSON{}
		for _, name := range newestKeys(all[key], maxLearnedLimits, func(l adapter.Limit) time.Time { return l.At }) {
			if limit := all[key][name]; len(name) <= maxLearnedText && len(limit.Becomes) <= maxLearnedText && limit.Fresh(now) {
				stored.Models[key][name] = limitJSON{limit.Becomes, limit.At.Unix()}
			}
		}
	}
	text, err := json.Marshal(stored)
	if err == nil {
		_ = f.replace(f.path, text)
	}
}

func latest(limits map[string]adapter.Limit) (at time.Time) {
	for _, l := range limits {
		if l.At.After(at) {
			at = l.At
		}
	}
	return at
}

// newestKeys lists at most n keys of m, the newest first.
func newestKeys[V any](m map[string]V, n int, at func(V) time.Time) []string {
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return at(m[b]).Compare(at(m[a])) })
	return keys[:min(n, len(keys))]
}
