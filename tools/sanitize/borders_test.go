package sanitize_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// foreign are the packages whose strings come from models, tools, servers and
// files.
var foreign = []string{"parley/providers/llm", "parley/tools", "parley/session", "parley/session/store", "parley/session/archive", "parley/session/attach"}

// drawing are the functions that hand text to a terminal, by package or type and
// name. What goes to a buffer is judged where that is drawn.
var drawing = map[string]bool{
	"charm.land/lipgloss/v2.Style.Render": true,
	"parley/ui/tui/transcript.ink.write":  true, "parley/ui/theme.SGR.Apply": true,
	"fmt.Fprint": true, "fmt.Fprintf": true, "fmt.Fprintln": true, "io.WriteString": true,
	"fmt.Print": true, "fmt.Printf": true, "fmt.Println": true,
}

// TestBorders: no string of a foreign type, and no error's words, reach a
// drawing function of the front ends other than through this package. It looks
// at what is passed, not at what became of it in a variable before: for that
// there is Clean, and the tests with hostile texts.
func TestBorders(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // all types live until the end
	packages := load(t, root)
	calls := 0
	for _, p := range packages {
		for _, file := range p.files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !drawing[name(p.info, call)] || buffered(p.info, call) {
					return true
				}
				calls++
				for _, arg := range call.Args {
					if bad := untrusted(p.info, arg); bad != nil {
						t.Errorf("%s: %s is drawn as it came", p.fset.Position(bad.Pos()), types.ExprString(bad))
					}
				}
				return true
			})
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls were looked at", calls)
	}
}

type checked struct {
	fset  *token.FileSet
	info  *types.Info
	files []*ast.File
}

// load type-checks the packages of the front ends, and main.
func load(t *testing.T, root string) []checked {
	// The texts built for this test are not built again in another way.
	args := []string{"list"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if slices.Contains([]string{"-race", "-tags", "-gcflags"}, s.Key) {
				args = append(args, s.Key+"="+s.Value)
			}
		}
	}
	cmd := exec.Command("go", append(args, "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", ".", "./ui/...")...)
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("go list: %v", err) // the tree does not build: another test says so
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports := map[string]string{}
	var ours []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.ImportPath == "parley" || strings.HasPrefix(p.ImportPath, "parley/ui/") {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []checked
	for _, p := range ours {
		c := checked{fset: fset, info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{},
		}}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			c.files = append(c.files, file)
		}
		if _, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, c.files, c.info); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, c)
	}
	return packages
}

// name is the function that call calls, as in drawing.
func name(info *types.Info, call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	var id *ast.Ident
	switch fun := fun.(type) {
	case *ast.SelectorExpr:
		id = fun.Sel
	case *ast.Ident:
		id = fun
	default:
		return ""
	}
	f, ok := info.Uses[id].(*types.Func)
	switch {
	case !ok:
		return ""
	case f.Pkg() == nil: // of the universe
		return f.Name()
	}
	if recv := f.Signature().Recv(); recv != nil {
		if n := named(recv.Type()); n != nil {
			return f.Pkg().Path() + "." + n.Obj().Name() + "." + f.Name()
		}
	}
	return f.Pkg().Path() + "." + f.Name()
}

func named(t types.Type) *types.Named {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, _ := t.(*types.Named)
	return n
}

// buffered reports whether call writes to memory.
func buffered(info *types.Info, call *ast.CallExpr) bool {
	if len(call.Args) == 0 {
		return true
	}
	n := named(info.TypeOf(call.Args[0]))
	return n != nil && n.Obj().Pkg() != nil && (n.Obj().Pkg().Path() == "strings" || n.Obj().Pkg().Path() == "bytes")
}

// untrusted is the first part of an expression that is a string from outside
// and does not pass this package.
func untrusted(info *types.Info, expr ast.Expr) (bad ast.Expr) {
	ast.Inspect(expr, func(n ast.Node) bool {
		if bad != nil {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			called := name(info, n)
			if strings.HasPrefix(called, "parley/tools/sanitize.") {
				return false
			}
			if strings.HasSuffix("."+called, ".Error") && len(n.Args) == 0 {
				bad = n
			}
		case *ast.Ident:
			if v, ok := info.Uses[n].(*types.Var); ok && types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
				bad = n
			}
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.FieldVal && outside(s) {
				bad = n
			}
		}
		return bad == nil
	})
	return bad
}

// outside reports whether s is a field of type string, exactly, of a foreign
// struct. Types of their own, such as llm.Fault, have values we chose.
func outside(s *types.Selection) bool {
	field := s.Obj()
	if basic, ok := field.Type().(*types.Basic); !ok || basic.Kind() != types.String || field.Pkg() == nil {
		return false
	}
	for _, path := range foreign {
		if field.Pkg().Path() == path {
			return true
		}
	}
	return false
}
