package store

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
)

// A power cut leaves what a disk was told to keep, and of the rest anything: every turn that Put
// acknowledged before it is there, whichever of the writes after the last sync are. A child's
// system calls stand for the disk: what it wrote is replayed up to an acknowledgment.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	trace, dir := tracedTurns(t)
	step, tries := either(7, 1), either(1, 8)
	cut, checked := 0, 0
	for d := range replay(t, trace, dir) {
		if cut++; cut%step != 1 && cut != powerTurns*powerRounds && step > 1 {
			continue
		}
		for try := range tries + 1 {
			var keep *rand.Rand // nothing that was not synced
			if try > 0 {
				keep = rand.New(rand.NewPCG(uint64(cut), uint64(try)))
			}
			t.Run(fmt.Sprint(cut, " ", try), func(t *testing.T) { checkPowerLoss(t, d, cut, keep) })
			checked++
		}
	}
	if cut != powerTurns*powerRounds {
		t.Fatalf("%d turns were acknowledged, not %d", cut, powerTurns*powerRounds)
	}
	t.Logf("%d power cuts behind %d turns", checked, cut)
}

// checkPowerLoss opens what a disk holds after a power cut, and looks for the first turns.
func checkPowerLoss(t *testing.T, d *disk, turns int, keep *rand.Rand) {
	t.Helper()
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	d.cut(t, filepath.Dir(path), keep)
	what := fmt.Sprintf("power cut behind turn %d (nothing unsynced kept: %v)", turns, keep == nil)
	db, err := Open(path)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer db.Close()
	if err := db.Check(); err != nil {
		t.Errorf("%s: %v", what, err)
	}
	var nodes []Node
	for seq := 1; seq <= turns; seq++ {
		id := fmt.Sprintf("round%d", (seq-1)/powerTurns)
		i := (seq - 1) % powerTurns
		if i == 0 {
			_, nodes, err = db.Read(id)
		}
		if err != nil || len(nodes) <= i || nodes[i].Text() != powerText(seq) {
			t.Fatalf("%s: turn %d is lost: %d messages of %s, %v", what, seq, len(nodes), id, err)
		}
	}
}

// powerTurns are the turns of a conversation that loses power, and powerRounds how often the
// store is closed and opened again for another one.
const powerTurns, powerRounds = 8, 3

// powerText returns what a turn says. One is so long that the log is moved into the database
// while it is open.
func powerText(seq int) string {
	if seq == powerTurns+3 {
		return strings.Repeat("word ", either(65_000, 650_000))
	}
	return text(seq)
}

// childPower holds conversations and says what was acknowledged.
func childPower(path, _ string) error {
	for round := range powerRounds {
		db, err := Open(path)
		if err != nil {
			return err
		}
		if !long { // a tenth of what SQLite does it at, for a tenth of that text
			if err := db.writer.script("PRAGMA wal_autocheckpoint(100)"); err != nil {
				return err
			}
		}
		l := db.Create(Session{ID: fmt.Sprintf("round%d", round)})
		for i := 1; i <= powerTurns; i++ {
			seq := round*powerTurns + i
			if err := l.Put(says(i, llm.RoleUser, powerText(seq))); err != nil {
				return err
			}
			fmt.Println("turn", seq)
		}
		if err := l.Close(); err != nil {
			return err
		}
		if err := db.Close(); err != nil {
			return err
		}
	}
	return nil
}

func init() { children["power"] = childPower }

// tracedTurns runs childPower under strace and returns its system calls, a line each, and the
// folder that it wrote to.
func tracedTurns(t *testing.T) (trace []byte, dir string) {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("strace is not installed: what a power cut leaves is not checked")
	}
	if out, err := exec.Command(strace, "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		t.Skipf("strace cannot follow programs here, so what a power cut leaves is not checked: %s", out)
	}
	dir, out := llmtest.Folder(t), filepath.Join(llmtest.Folder(t), "trace")
	calls := "write,pwrite64,fsync,fdatasync,ftruncate,renameat,?renameat2,?rename,unlinkat,?unlink,openat,?open,?pwritev,?pwritev2,?writev"
	cmd := exec.Command(strace, "-f", "--seccomp-bpf", "-y", "-e", "trace="+calls, "-xx", "-s", "8000000", "-o", out, os.Args[0])
	cmd.Env = append(os.Environ(), "PARLEY_STORE_CHILD=power", "PARLEY_STORE_PATH="+filepath.Join(dir, "parley.db"))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	trace, err = os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return trace, dir
}

// A diskFile is a file that a program writes to.
type diskFile struct {
	synced  []byte          // what a power cut leaves
	pending []func(*[]byte) // what was done to it since
}

// sync keeps the first n pending changes.
func (f *diskFile) sync(n int) {
	for _, change := range f.pending[:n] {
		change(&f.synced)
	}
	f.pending = f.pending[n:]
}

// A disk is a folder of files, by name: as programs see it, and as a power cut leaves it.
type disk struct{ live, synced map[string]*diskFile }

// cut writes what is left of the folder into another one: of what was not synced nothing, or
// what keep chooses.
func (d *disk) cut(t *testing.T, dir string, keep *rand.Rand) {
	t.Helper()
	chosen := func() bool { return keep != nil && keep.IntN(2) == 0 }
	names := maps.Clone(d.synced)
	for _, name := range slices.Sorted(maps.Keys(d.live)) {
		if chosen() {
			names[name] = d.live[name]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.synced)) {
		if d.live[name] == nil && chosen() {
			delete(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		content := bytes.Clone(names[name].synced)
		for _, change := range names[name].pending {
			if chosen() {
				change(&content)
			}
		}
		if strings.HasSuffix(name, "-shm") {
			continue // memory that processes share, which none outlives
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// callLine finds a system call as strace writes it: the process, the name, and whether it was
// begun in an earlier line.
var callLine = regexp.MustCompile(`^(\d+) +(?:<\.\.\. )?([a-z0-9]+)(\(| resumed>)`)

// replay yields the disk before each acknowledgment of childPower, by its number.
func replay(t *testing.T, trace []byte, dir string) func(yield func(*disk) bool) {
	return func(yield func(*disk) bool) {
		r := replayer{T: t, dir: dir, disk: disk{map[string]*diskFile{}, map[string]*diskFile{}}, begun: map[string]func(){}}
		for line := range bytes.Lines(trace) {
			head := callLine.FindSubmatch(line)
			if head == nil {
				continue // a signal, or an exit
			}
			rest := line[len(head[0]):]
			if string(head[2]) == "write" && bytes.HasPrefix(rest, []byte("1<")) && bytes.Contains(rest, []byte(`"\x74\x75\x72\x6e\x20`)) {
				if !yield(&r.disk) {
					return
				}
				continue
			}
			r.call(string(head[1]), string(head[2]), rest, head[3][0] == ' ')
		}
	}
}

// A replayer does to a disk what a trace says.
type replayer struct {
	*testing.T
	dir   string
	disk  disk
	begun map[string]func() // syncs that have not ended, by process
}

// hexTexts returns the first n texts of a line as strace -xx writes them: the path of a file
// descriptor, or an argument.
func hexTexts(line []byte, n int) (texts [][]byte) {
	for len(texts) < n {
		from := bytes.IndexAny(line, `<"`)
		to := bytes.IndexAny(line[from+1:], `>"`)
		if from < 0 || to < 0 {
			break
		}
		digits := make([]byte, 0, to/2)
		for text := line[from+1 : from+1+to]; len(text) >= 4; text = text[4:] { // each byte as \x00
			digits = append(digits, text[2], text[3])
		}
		if k, err := hex.Decode(digits, digits); err == nil && 4*k == to {
			texts = append(texts, digits[:k])
		}
		line = line[from+1+to+1:]
	}
	return texts
}

// call does one system call, or one half of it.
func (r *replayer) call(process, name string, rest []byte, resumed bool) {
	failed := bytes.Contains(rest[max(0, len(rest)-200):], []byte(") = -1 "))
	if resumed {
		if end := r.begun[process]; end != nil && !failed {
			end()
		}
		delete(r.begun, process)
		return
	}
	if failed {
		return
	}
	rest, _, unfinished := bytes.Cut(rest, []byte(" <unfinished"))
	texts := hexTexts(rest, 2)
	in := func(i int) (file string, ok bool) {
		if i >= len(texts) {
			return "", false
		}
		file, ok = strings.CutPrefix(string(texts[i]), r.dir)
		return strings.TrimPrefix(file, "/"), ok
	}
	switch name {
	case "open", "openat":
		for i := range texts[:min(2, len(texts))] {
			if file, ok := in(i); ok && file != "" && bytes.Contains(rest, []byte("O_CREAT")) {
				r.file(file)
			}
		}
	case "unlink", "unlinkat":
		if file, ok := in(len(texts) - 1); ok {
			delete(r.disk.live, file)
		}
	case "fsync", "fdatasync":
		if file, ok := in(0); ok {
			r.sync(process, file, unfinished)
		}
	case "pwrite64", "ftruncate":
		if file, ok := in(0); ok {
			r.change(name, file, texts, rest)
		}
	default: // nothing else may change the folder unseen
		for i := range texts {
			if file, ok := in(i); ok && (i == 0 || name != "write") {
				r.Fatalf("%s of %q is not replayed", name, file)
			}
		}
	}
}

// file returns a file of the folder, and makes it if there is none.
func (r *replayer) file(name string) *diskFile {
	if r.disk.live[name] == nil {
		r.disk.live[name] = &diskFile{}
	}
	return r.disk.live[name]
}

// sync makes sure of a file, or, without a name, of the names in the folder.
func (r *replayer) sync(process, name string, unfinished bool) {
	end := func(names map[string]*diskFile) func() { return func() { r.disk.synced = names } }(maps.Clone(r.disk.live))
	if name != "" {
		f := r.file(name)
		n := len(f.pending)
		end = func() { f.sync(n) }
	}
	if unfinished {
		r.begun[process] = end
		return
	}
	end()
}

// change writes to a file, or sets its length.
func (r *replayer) change(call, name string, texts [][]byte, rest []byte) {
	args := bytes.TrimSpace(rest[bytes.LastIndexAny(rest, `">`)+1:])
	args, _, _ = bytes.Cut(args, []byte(")"))
	numbers := strings.FieldsFunc(string(args), func(c rune) bool { return c == ',' || c == ' ' })
	last, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		r.Fatalf("%s: %q: %v", call, args, err)
	}
	f := r.file(name)
	if call == "ftruncate" {
		f.pending = append(f.pending, func(content *[]byte) { *content = resize(*content, last) })
		return
	}
	data := texts[1]
	if length, err := strconv.Atoi(numbers[0]); err != nil || length != len(data) {
		r.Fatalf("%s of %d bytes: %q", call, len(data), args)
	}
	f.pending = append(f.pending, func(content *[]byte) {
		*content = resize(*content, max(len(*content), last+len(data)))
		copy((*content)[last:], data)
	})
}

// resize cuts content or fills it up with zeros.
func resize(content []byte, size int) []byte {
	if size <= len(content) {
		return content[:size]
	}
	return append(content, make([]byte, size-len(content))...)
}
