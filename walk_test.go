package main

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWalk follows the walk of a prompt in docs/architecture.md. Each station is a function that an earlier station
// calls, directly or through a few functions of its package.
func TestWalk(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, walk, _ := strings.Cut(string(doc), "\n## One prompt")
	walk, _, _ = strings.Cut(walk, "\n## ")
	var stations []string
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `([^`]+)`").FindAllStringSubmatch(walk, -1) {
		stations = append(stations, m[1])
	}
	const most = 15
	if len(stations) < 2 || len(stations) > most {
		t.Fatalf("the walk has %d stations, want 2 to %d", len(stations), most)
	}
	calls := readCalls(t)
	for i, station := range stations {
		if calls[station] == nil {
			t.Errorf("station %d: there is no function %s", i+1, station)
			continue
		}
		if i > 0 && !slices.ContainsFunc(stations[:i], func(from string) bool { return calls.lead(from, station) }) {
			t.Errorf("station %d: no station before it calls %s", i+1, station)
		}
	}
}

// TestWalkFindsCalls checks calls that TestWalk accepts and rejects.
func TestWalkFindsCalls(t *testing.T) {
	t.Parallel()
	calls := readCalls(t)
	for _, row := range []struct {
		from, to string
		want     bool
	}{
		{"session.Session.Turn", "session.turn.run", true},
		{"session.Session.Turn", "providers/openai.Chat.Stream", true}, // through an interface
		{"session.turn.run", "ui/app/classify.Entered", false},
		{"providers/openai.Chat.Stream", "session.turn.run", false},
	} {
		if got := calls.lead(row.from, row.to); got != row.want {
			t.Errorf("%s leads to %s: %v, want %v", row.from, row.to, got, row.want)
		}
	}
}

// A callGraph holds the names used by each function, as DIRECTORY.FUNCTION or DIRECTORY.TYPE.METHOD.
type callGraph map[string]map[string]bool

func readCalls(t *testing.T) callGraph {
	t.Helper()
	calls := callGraph{}
	for file, f := range readSource(t).files {
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body == nil {
				continue
			}
			name := path.Dir(file) + "." + d.Name.Name
			if d.Recv != nil {
				name = path.Dir(file) + "." + receiver(d.Recv.List[0].Type) + "." + d.Name.Name
			}
			if calls[name] == nil {
				calls[name] = map[string]bool{}
			}
			ast.Inspect(d.Body, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					calls[name][id.Name] = true
				}
				return true
			})
		}
	}
	return calls
}

// lead reports whether the function from calls the function to, directly or through at most four functions of its
// package.
func (calls callGraph) lead(from, to string) bool {
	dir, _, _ := strings.Cut(from, ".")
	called := to[strings.LastIndex(to, ".")+1:]
	seen := map[string]bool{from: true}
	for at, depth := []string{from}, 0; len(at) > 0 && depth <= 4; depth++ {
		var next []string
		for _, name := range at {
			if calls[name][called] {
				return true
			}
			for other := range calls {
				if strings.HasPrefix(other, dir+".") && !seen[other] && calls[name][other[strings.LastIndex(other, ".")+1:]] {
					seen[other] = true
					next = append(next, other)
				}
			}
		}
		at = next
	}
	return false
}
