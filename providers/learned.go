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

// Bounds of the file of learned limits. What exceeds them is dropped: nothing in
// it is more than a request saved.
const (
	maxLearnedFile   = 1 << 20 // bytes
	maxLearnedModels = 200
	maxLearnedLimits = 64  // of one model
	maxLearnedText   = 200 // bytes of a name or of what is sent in its place
)

// LearnedPath returns the file for OpenMemory: parley/learned.json in $XDG_CACHE_HOME,
// or in .cache of the home directory; "" if there is neither.
func LearnedPath(getenv func(string) string) string {
	dir := getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) { // a relative one is to be ignored (XDG Base Directory)
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(dir, "parley", "learned.json")
}

// A learnedFile holds the limits of models over the runs of the program. Whatever
// is wrong with it, it is read as empty and written anew: it is a cache.
type learnedFile struct {
	path    string
	replace func(path string, content []byte) error // nil: nothing is written
	mu      sync.Mutex
}

// learnedModels are limits by model, under its learnedKey, and by name.
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

// learnedKey names a model at an address in the file: a hash, since addresses and
// names may tell more than a cache should.
func learnedKey(kind string, at servedModel) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + at.url + "\x00" + at.model))
	return hex.EncodeToString(sum[:16])
}

// requiredFields lists fields without which a request says nothing. No file takes them
// out of it.
var requiredFields = []string{"model", "messages", "input", "contents", "stream"}

// read returns what the file holds that still counts.
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

// write replaces what the file holds under key, and drops what counts no more.
// Errors are not told: the next refusal teaches the same.
func (f *learnedFile) write(key string, limits map[string]adapter.Limit, now time.Time) {
	if f.replace == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.read(now) // another run may have written since
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
