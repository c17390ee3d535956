package snapshot

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// A bundle is a file with many contents, each after its SHA-256 and its compressed size. Only the process that
// created it appends to it. Its index, the heads alone, is written after the contents: contents without an index
// are read from the bundle, and an incomplete last one is ignored.
type bundle struct {
	path    string
	size    int64 // of the known contents with their heads
	at      time.Time
	checked time.Time // when the file was last known to exist
}

const (
	headSize      = sha256.Size + 4
	maxBundle     = 64 << 20
	smallBundle   = 4 << 20 // smaller ones are joined by Prune
	bundleSuffix  = ".pack"
	bundleChecked = time.Minute
)

// A location is the place of a compressed content.
type location struct {
	*bundle
	offset int64
	size   uint32
}

// bundles holds the contents of a store that are in bundles. It is safe for concurrent use.
type bundles struct {
	dir string

	mu      sync.Mutex
	loaded  bool
	byPath  map[string]*bundle
	where   map[[sha256.Size]byte]location
	own     *bundle // new contents are appended to it; nil: none
	ownFile *os.File
	ownInfo fs.FileInfo // of ownFile
	index   *os.File    // of own
}

func keyOf(sum string) (key [sha256.Size]byte) {
	_, _ = hex.Decode(key[:], []byte(sum))
	return key
}

// load reads the bundles that other processes wrote. It forgets those that are gone.
func (b *bundles) load() {
	if b.byPath == nil {
		b.byPath, b.where = map[string]*bundle{}, map[[sha256.Size]byte]location{}
	}
	b.loaded = true
	paths, _ := filepath.Glob(filepath.Join(escapeGlob(b.dir), "*"+bundleSuffix))
	for path := range b.byPath {
		if !slices.Contains(paths, path) {
			b.forget(b.byPath[path])
		}
	}
	for _, path := range paths {
		if b.own == nil || path != b.own.path {
			b.read(path)
		}
	}
}

// forget forgets a bundle whose file is gone.
func (b *bundles) forget(gone *bundle) {
	delete(b.byPath, gone.path)
	for sum, at := range b.where {
		if at.bundle == gone {
			delete(b.where, sum)
		}
	}
	if b.own == gone {
		b.closeOwn()
	}
}

// read reads the heads of a bundle from where it was last read.
func (b *bundles) read(path string) {
	f, err := openRegular(path)
	if err != nil {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return
	}
	one := b.byPath[path]
	if one == nil {
		one = &bundle{path: path}
		b.byPath[path] = one
	}
	one.at, one.checked = info.ModTime(), time.Now()
	if one.size == 0 {
		heads, _ := os.ReadFile(indexOf(path))
		for ; len(heads) >= headSize && b.known(one, heads[:headSize], info.Size()); heads = heads[headSize:] {
		}
	}
	head := make([]byte, headSize)
	for {
		if _, err := f.ReadAt(head, one.size); err != nil || !b.known(one, head, info.Size()) {
			return
		}
	}
}

// known adds the next content of a bundle by its head; false if the bundle ends before it is complete.
func (b *bundles) known(one *bundle, head []byte, size int64) bool {
	at := location{one, one.size + headSize, binary.BigEndian.Uint32(head[sha256.Size:])}
	if at.size == 0 || at.offset+int64(at.size) > size {
		return false
	}
	sum := [sha256.Size]byte(head)
	if _, twice := b.where[sum]; !twice {
		b.where[sum] = at
	}
	one.size = at.offset + int64(at.size)
	return true
}

func indexOf(path string) string { return strings.TrimSuffix(path, bundleSuffix) + ".idx" }

// find returns the location of a content. It checks at most once a minute that the bundle exists. With use it
// renews the bundle's time, so that Prune keeps it.
func (b *bundles) find(sum string, use bool) (at location, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.loaded {
		b.load()
	}
	at, ok = b.where[keyOf(sum)]
	if !ok || !use || time.Since(at.checked) < bundleChecked {
		return at, ok
	}
	info, err := os.Lstat(at.path)
	if err != nil || info.Size() < at.offset+int64(at.size) {
		b.forget(at.bundle)
		return at, false
	}
	now := time.Now()
	if at.at = info.ModTime(); now.Sub(at.at) > renewAfter {
		if os.Chtimes(at.path, now, now) != nil {
			return at, false
		}
		at.at = now
	}
	at.checked = now
	return at, true
}

// get returns a compressed content; an error if there is none.
func (b *bundles) get(sum string) ([]byte, error) {
	for try := range 2 {
		if at, ok := b.find(sum, false); ok {
			packed := make([]byte, at.size)
			f, err := openRegular(at.path)
			if err == nil {
				_, err = f.ReadAt(packed, at.offset)
				f.Close()
			}
			if err == nil || try > 0 {
				return packed, err
			}
		}
		b.mu.Lock()
		b.load() // another process may have written or moved it
		b.mu.Unlock()
	}
	return nil, &fs.PathError{Op: "find", Path: sum, Err: fs.ErrNotExist}
}

// put appends a compressed content.
func (b *bundles) put(sum string, packed []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.loaded {
		b.load()
	}
	return b.append(keyOf(sum), packed)
}

func (b *bundles) append(sum [sha256.Size]byte, packed []byte) error {
	head := binary.BigEndian.AppendUint32(sum[:], uint32(len(packed)))
	for range 3 {
		if err := b.openOwn(); err != nil {
			return err
		}
		if _, err := b.ownFile.Write(append(bytes.Clone(head), packed...)); err != nil {
			b.closeOwn() // its end may be incomplete
			return err
		}
		if now, err := os.Lstat(b.own.path); err != nil || !os.SameFile(now, b.ownInfo) { // another process prunes it
			b.closeOwn()
			continue
		}
		delete(b.where, sum) // a damaged one
		b.known(b.own, head, b.own.size+headSize+int64(len(packed)))
		b.own.at, b.own.checked = time.Now(), time.Now()
		if _, err := b.index.Write(head); err != nil {
			b.closeOwn() // later heads would not be found
		}
		return nil
	}
	return fmt.Errorf("%s keeps being removed", b.dir)
}

// openOwn opens a bundle of this process with room for another content.
func (b *bundles) openOwn() error {
	if b.own != nil && b.own.size < maxBundle {
		return nil
	}
	b.closeOwn()
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	path := filepath.Join(b.dir, rand.Text()+bundleSuffix)
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | os.O_APPEND
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	index, err := os.OpenFile(indexOf(path), flags, 0o600)
	if err != nil {
		f.Close()
		return err
	}
	b.own, b.ownFile, b.ownInfo, b.index = &bundle{path: path}, f, info, index
	b.byPath[path] = b.own
	return nil
}

// closeOwn ends the bundle that new contents are appended to.
func (b *bundles) closeOwn() {
	if b.own != nil {
		b.own = nil
		_ = b.ownFile.Sync() // Prune may remove other copies
		b.ownFile.Close()
		b.index.Close()
	}
}

// remove removes contents, and joins small bundles that are not young. Bundles with few unwanted contents stay
// unless all is set.
func (b *bundles) remove(unwanted func(sum string, at time.Time) bool, all bool) (removed map[string]int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load()
	removed = map[string]int64{}
	contents := map[*bundle][][sha256.Size]byte{}
	for sum, at := range b.where {
		contents[at.bundle] = append(contents[at.bundle], sum)
	}
	var small []*bundle
	var errs []error
	for _, one := range b.byPath {
		var lost int64
		for _, sum := range contents[one] {
			if unwanted(hex.EncodeToString(sum[:]), one.at) {
				lost += int64(b.where[sum].size)
			}
		}
		unused := one.size - lost // of contents that other bundles have too
		for _, sum := range contents[one] {
			unused -= int64(b.where[sum].size) + headSize
		}
		switch young := time.Since(one.at) < 24*time.Hour; {
		case lost > 0 && (all || lost*4 >= one.size), !young && (unused+lost)*4 >= one.size:
			errs = append(errs, b.rewrite(one, contents[one], unwanted, removed))
		case !young && one.size < smallBundle:
			small = append(small, one)
		}
	}
	if len(small) > 1 {
		for _, one := range small {
			errs = append(errs, b.rewrite(one, contents[one], func(string, time.Time) bool { return false }, removed))
		}
	}
	return removed, errors.Join(errs...)
}

// rewrite copies the wanted contents of a bundle to another one and removes it. It is renamed first, so that
// the process that appends to it notices.
func (b *bundles) rewrite(one *bundle, contents [][sha256.Size]byte, unwanted func(string, time.Time) bool, removed map[string]int64) error {
	if b.own == one {
		b.closeOwn()
	}
	old := one.path
	moved := filepath.Join(b.dir, "old-"+rand.Text()+bundleSuffix)
	if os.Rename(old, moved) != nil {
		return nil // in use on Windows, or gone: another Prune will remove it
	}
	size := one.size
	delete(b.byPath, old)
	delete(b.byPath, moved)
	for _, sum := range contents {
		delete(b.where, sum)
	}
	b.read(moved) // with what was appended meanwhile
	now := b.byPath[moved]
	if now == nil || now.size < size {
		b.loaded = false
		return fmt.Errorf("%s could not be read again: it stays as it is", moved)
	}
	f, err := os.Open(moved)
	if err != nil {
		return err
	}
	defer f.Close()
	var all []location
	sums := map[location][sha256.Size]byte{}
	for sum, is := range b.where {
		if is.bundle == now {
			all, sums[is] = append(all, is), sum
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].offset < all[j].offset })
	for _, is := range all {
		sum := sums[is]
		if name := hex.EncodeToString(sum[:]); unwanted(name, now.at) {
			removed[name] = int64(is.size)
			delete(b.where, sum)
			continue
		}
		packed := make([]byte, is.size)
		if _, err := f.ReadAt(packed, is.offset); err != nil {
			return err
		}
		if err := b.append(sum, packed); err != nil {
			return err
		}
	}
	if b.own != nil { // the only copy from now on
		if err := errors.Join(b.ownFile.Sync(), b.index.Sync()); err != nil {
			return err
		}
	}
	b.forget(now)
	f.Close()
	return errors.Join(os.Remove(moved), ignoreAbsent(os.Remove(indexOf(old))))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// items returns the contents in bundles by their sums.
func (b *bundles) items() map[string]storedItem {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.load()
	all := map[string]storedItem{}
	for sum, at := range b.where {
		name := hex.EncodeToString(sum[:])
		all[name] = storedItem{name, at.at, int64(at.size)}
	}
	return all
}

var packers = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(io.Discard, flate.BestSpeed)
	return w
}}

// compress returns content compressed.
func compress(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := packers.Get().(*flate.Writer)
	defer packers.Put(w)
	w.Reset(&packed)
	_, err := w.Write(content)
	err = errors.Join(err, w.Close())
	return packed.Bytes(), err
}
