package snapshot

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
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
	"parley/tools/undo"
)

// A Store is the directory with the pre-images of all conversations: objects/packs has contents, sessions a
// history for each conversation. Earlier versions kept each content in a file of objects, which are still read.
// Only its owner can read the directory. It is created on first use. A Store is safe for concurrent use, also by several processes.
type Store struct {
	dir     string
	bundles bundles

	mu         sync.Mutex
	workspaces map[string]*workspace
}

// Open returns the store in dir, which need not exist.
func Open(dir string) undo.Store { return openStore(dir) }

func openStore(dir string) *Store {
	return &Store{dir: dir, bundles: bundles{dir: filepath.Join(dir, "objects", "packs")}, workspaces: map[string]*workspace{}}
}

// objectPath returns the path of the content with a sum that an earlier version stored.
func (s *Store) objectPath(sum string) string {
	return filepath.Join(s.dir, "objects", sum[:2], sum[2:])
}

// isSum reports whether text is a SHA-256 in lower-case hexadecimal.
func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == sha256.Size && strings.ToLower(text) == text
}

// sumOf returns the SHA-256 of content, in hexadecimal.
func sumOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// renewAfter is the age at which has updates the time of stored content, which [Store.Prune] reads.
const renewAfter = time.Hour

// has reports whether content is stored, and updates its time of use.
func (s *Store) has(sum string) bool {
	if _, ok := s.bundles.find(sum, true); ok {
		return true
	}
	info, err := os.Lstat(s.objectPath(sum))
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 { // damaged, for instance by a power failure
		return false
	}
	if now := time.Now(); now.Sub(info.ModTime()) > renewAfter {
		return os.Chtimes(s.objectPath(sum), now, now) == nil
	}
	return true
}

// put stores content and returns its sum.
func (s *Store) put(content []byte) (string, error) {
	sum := sumOf(content)
	if s.has(sum) {
		return sum, nil
	}
	packed, err := compress(content)
	if err != nil {
		return "", err
	}
	return sum, s.bundles.put(sum, packed)
}

// get returns the content with a sum; an error if it is missing or damaged.
func (s *Store) get(sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, fmt.Errorf("no kept content is called %q", sum)
	}
	packed, err := s.bundles.get(sum)
	if errors.Is(err, fs.ErrNotExist) {
		packed, err = os.ReadFile(s.objectPath(sum))
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxRestored+1))
	if err == nil && sumOf(content) != sum {
		err = fmt.Errorf("kept content %s is damaged", sum)
	}
	return content, err
}

// writeFile writes a file atomically. With sync it survives a power failure.
func (s *Store) writeFile(path string, content []byte, sync bool) error {
	if sync {
		return atomicfile.Replace(path, content)
	}
	return atomicfile.ReplaceUnsynced(path, content)
}

// sessionDir returns the directory of a conversation's history; an error if session is not an ID.
func (s *Store) sessionDir(session string) (string, error) {
	if session == "" || !filepath.IsLocal(session) || strings.ContainsAny(session, `/\:`) {
		return "", fmt.Errorf("no history is called %q", session)
	}
	return filepath.Join(s.dir, "sessions", session), nil
}

// Remove implements undo.Store.
func (s *Store) Remove(session string) error {
	own := s.objectsOf(session)
	if err := s.removeHistory(session); err != nil || len(own) == 0 {
		return err
	}
	others, err := s.histories()
	if err != nil {
		return err
	}
	unused := map[string]bool{}
	for _, sum := range own {
		unused[sum] = true
	}
	for _, h := range others {
		for _, sum := range s.objectsOf(h.name) {
			delete(unused, sum)
		}
	}
	for sum := range unused {
		if err := ignoreAbsent(os.Remove(s.objectPath(sum))); err != nil {
			return err
		}
	}
	_, err = s.bundles.remove(func(sum string, _ time.Time) bool { return unused[sum] }, true)
	return err
}

func (s *Store) removeHistory(session string) error {
	dir, err := s.sessionDir(session)
	if err != nil {
		return err
	}
	return os.RemoveAll(dir)
}

// noMessage is the Seq of a record without a message in the conversation.
const noMessage = -1

// Copy implements undo.Store.
func (s *Store) Copy(from, to string, seqs []int) error {
	source, err := s.sessionDir(from)
	if err != nil {
		return err
	}
	target, err := s.sessionDir(to)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(source, logName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	numbers := map[int]int{0: 0} // 0 stands for before all messages
	for i, seq := range seqs {
		numbers[seq] = i + 1
	}
	records, marks := readLog(filepath.Join(source, logName))
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for i := range records {
		number, there := numbers[records[i].Seq]
		if !there {
			number = noMessage
		}
		records[i].Seq = number
		err = errors.Join(err, lines.Encode(logLine{Record: &records[i]}))
	}
	for head, at := range marks {
		if number, there := numbers[head]; there {
			err = errors.Join(err, lines.Encode(logLine{Mark: &branchMark{number, at}}))
		}
	}
	if err != nil {
		return err
	}
	about, err := os.ReadFile(filepath.Join(source, reachName))
	if err == nil {
		err = s.writeFile(filepath.Join(target, reachName), about, false)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.writeFile(filepath.Join(target, logName), text.Bytes(), false)
}
