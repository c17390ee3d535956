package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/token"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A bug is a small change of the program: the bytes from begin to end of a file become text.
type bug struct {
	file       string
	line       int
	begin, end int
	text       string
	kind       string
}

// Bugs are planted in bugRooms rooms, one in each, that have at least bugRoom tokens.
const (
	bugRoom    = 1500
	bugRooms   = 24
	bugsCaught = 20 // at least, by the room's own tests
)

// TestBugs plants a bug in each of 24 rooms and checks that the tests of at least 20 of them fail. The number in
// PARLEY_BUGS seeds the choice of rooms and places. See "Planted bugs" in docs/architecture.md.
func TestBugs(t *testing.T) {
	seed, err := strconv.ParseUint(os.Getenv("PARLEY_BUGS"), 10, 64)
	if err != nil {
		t.Skip("PARLEY_BUGS=SEED plants 24 bugs, which takes half an hour")
	}
	random := rand.New(rand.NewPCG(seed, 0))
	rooms := bugPlaces(t)
	names := make([]string, 0, len(rooms))
	for name := range rooms {
		names = append(names, name)
	}
	slices.Sort(names)
	random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	kinds := []string{"negated", "moved", "dropped"}
	planted, caught := 0, 0
	for _, room := range names {
		if planted == bugRooms {
			break
		}
		places := rooms[room][kinds[planted%len(kinds)]]
		random.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
		for _, b := range places[:min(len(places), 10)] {
			survived, err := tryBug(t, room, b)
			if err != nil {
				continue // it does not compile
			}
			planted++
			if survived {
				t.Logf("%-28s MISSED  %s %s:%d, now %q", room, b.kind, b.file, b.line, b.text)
			} else {
				caught++
				t.Logf("%-28s caught  %s %s:%d", room, b.kind, b.file, b.line)
			}
			break
		}
	}
	t.Logf("%d of %d caught", caught, planted)
	if planted != bugRooms || caught < bugsCaught {
		t.Errorf("%d of %d bugs are caught by the tests of their room, want %d of %d", caught, planted, bugsCaught, bugRooms)
	}
}

// tryBug runs the tests of a room with a bug in it, and reports whether they pass. It returns an error if the bug does
// not compile.
func tryBug(t *testing.T, room string, b bug) (survived bool, err error) {
	t.Helper()
	text, err := os.ReadFile(b.file)
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	wrong, overlay := filepath.Join(tmp, "wrong.go"), filepath.Join(tmp, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{absolute(t, b.file): wrong}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(wrong, slices.Concat(text[:b.begin], []byte(b.text), text[b.end:]), 0o600), os.WriteFile(overlay, list, 0o600)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-overlay", overlay, "./"+room).CombinedOutput(); err != nil {
		return false, fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	for _, own := range ownTests(room) {
		cmd := exec.Command("go", append([]string{"test", "-vet=off", "-failfast", "-timeout=300s", "-overlay", overlay}, own...)...)
		cmd.Env = append(os.Environ(), "PARLEY_BUGS=")
		if cmd.Run() != nil {
			return false, nil
		}
	}
	return true, nil
}

// ownTests returns the arguments for go test that run a room's own tests: those of the package and, for a command of
// the command line, the script that is named after it.
func ownTests(room string) [][]string {
	tests := [][]string{{"./" + room}}
	if dir, name := path.Split(room); dir == "ui/cli/cmd/" {
		if _, err := os.Stat("testdata/script/" + name + ".txtar"); err == nil {
			tests = append(tests, []string{".", "-run=TestScript/^" + name + "$"})
		}
	}
	return tests
}

// bugPlaces returns the possible places of bugs, by room and kind of bug.
func bugPlaces(t *testing.T) map[string]map[string][]bug {
	t.Helper()
	source := readSource(t)
	tested := map[string]bool{}
	for name := range source.tests {
		tested[path.Dir(name)] = true
	}
	tokens := map[string]int{}
	for name := range source.files {
		tokens[path.Dir(name)] += countTokens(t, name)
	}
	rooms := map[string]map[string][]bug{}
	for name, f := range source.files {
		room := path.Dir(name)
		if built, err := build.Default.MatchFile(room, path.Base(name)); err != nil || !built || !tested[room] || room == "." || tokens[room] < bugRoom || testKits.MatchString(room) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add := func(kind string, begin, end token.Pos, change func(string) string) {
			from, to := source.positions.Position(begin), source.positions.Position(end).Offset
			if rooms[room] == nil {
				rooms[room] = map[string][]bug{}
			}
			rooms[room][kind] = append(rooms[room][kind], bug{name, from.Line, from.Offset, to, change(string(text[from.Offset:to])), kind})
		}
		moved := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.IfStmt:
					add("negated", n.Cond.Pos(), n.Cond.End(), func(s string) string { return "!(" + s + ")" })
				case *ast.BinaryExpr:
					if to := moved[n.Op]; to != "" {
						add("moved", n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), func(string) string { return to })
					}
				case *ast.ExprStmt, *ast.IncDecStmt:
					add("dropped", n.Pos(), n.End(), func(string) string { return "" })
				case *ast.AssignStmt:
					if n.Tok != token.DEFINE {
						add("dropped", n.Pos(), n.End(), func(string) string { return "" })
					}
				}
				return true
			})
		}
	}
	for _, kinds := range rooms { // files come from a map in random order
		for _, places := range kinds {
			slices.SortFunc(places, func(a, b bug) int {
				if a.file != b.file {
					return strings.Compare(a.file, b.file)
				}
				return a.begin - b.begin
			})
		}
	}
	return rooms
}
