package tools

import (
	"crypto/sha256"
	"sync"
)

type hash = [sha256.Size]byte

// knownFiles holds the content of files as the model last read or wrote them, by path. The zero
// value is empty. It is safe for concurrent use.
type knownFiles struct {
	mu     sync.Mutex
	hashes map[string]hash
}

// set records the content of a file that the model knows.
func (k *knownFiles) set(file string, sum hash) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hashes == nil {
		k.hashes = map[string]hash{}
	}
	k.hashes[file] = sum
}

// get returns the content of a file that the model knows; ok is false if it knows none.
func (k *knownFiles) get(file string) (hash, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	sum, ok := k.hashes[file]
	return sum, ok
}

// writeLocks serializes the writes of each file, by path. The zero value is ready.
type writeLocks struct {
	mu    sync.Mutex
	files map[string]*sync.Mutex
}

// lock waits until no other call writes the file.
func (l *writeLocks) lock(file string) (unlock func()) {
	l.mu.Lock()
	one := l.files[file]
	if one == nil {
		if l.files == nil {
			l.files = map[string]*sync.Mutex{}
		}
		one = &sync.Mutex{}
		l.files[file] = one
	}
	l.mu.Unlock()
	one.Lock()
	return one.Unlock
}
