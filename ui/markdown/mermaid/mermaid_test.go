package mermaid

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"parley/ui/textwrap"
)

var update = flag.Bool("update", false, "write the drawings into testdata/drawings.txt")

// testdata/drawings.txt holds diagrams, each followed by its drawing in 80 columns after a line of dots.
func TestDrawings(t *testing.T) {
	const path, end, dots = "testdata/drawings.txt", "\n====\n", "\n....\n"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for part := range strings.SplitSeq(strings.TrimSuffix(string(data), end), end) {
		source, want, _ := strings.Cut(part, dots)
		got := strings.Join(Draw(source, 80), "\n")
		if got != want && !*update {
			t.Errorf("%s\ngot\n%s\nwant\n%s", source, got, want)
		}
		all = append(all, source+dots+got)
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(all, end)+end), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Unknown diagrams are shown as their source.
func TestNotDrawn(t *testing.T) {
	for _, source := range []string{
		"", "pie\n\"a\": 1", "graph TD", "graph XX\nA", ";A", "graph LR A --> B", "graph TD" + strings.Repeat("\nsubgraph s\nA\nend", maxClusters+1),
		"graph TD\nA --", "graph TD\nA --> [", "graph TD\nsubgraph a\nsubgraph b\nA\nend\nend",
		"graph TD\nsubgraph a\nA\nend\na --> B", "graph TD\nA[" + strings.Repeat("wide ", 20) + "]",
		"sequenceDiagram", "sequenceDiagram\nA->>B: hi\nend", "sequenceDiagram\nloop x\nA->>B: hi", "sequenceDiagram\nwhat is this",
		"sequenceDiagram\nelse\nA->>B: hi", "graph TD\n" + strings.Repeat("A --> B\n", 1000), "graph TD\n" + strings.Repeat("A&", 300) + "A --> " + strings.Repeat("B&", 300) + "B",
	} {
		if lines := Draw(source, 80); lines != nil {
			t.Errorf("%.60q is drawn:\n%s", source, strings.Join(lines, "\n"))
		}
	}
}

// numbered returns n lines: the line with each number in place of #.
func numbered(line string, n int) (all string) {
	for i := range n {
		all += "\n" + strings.ReplaceAll(line, "#", fmt.Sprint(i))
	}
	return all
}

// A drawing that fits exactly is not made narrower, nor left out.
func TestExactWidth(t *testing.T) {
	for _, source := range []string{"graph TD\nA & B --> C", "graph LR\nA -->|yes| B", "graph TD\nsubgraph s\nA\nend", "sequenceDiagram\nA->>B: hi\nloop x\nend"} {
		lines := Draw(source, 80)
		if again := Draw(source, widest(lines)); !slices.Equal(again, lines) {
			t.Errorf("%s: in %d cells\n%s", source, widest(lines), strings.Join(again, "\n"))
		}
	}
}

// A diagram at its limits is drawn; one step further it is not.
func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	chain := "graph LR"
	for i := range 200 {
		chain += fmt.Sprintf("\nN%d --> N%d", i, i+1)
	}
	for name, c := range map[string]struct {
		limit   int
		diagram func(n int) string
	}{
		"bytes":           {maxSource, func(n int) string { return "graph TD\nA" + repeat("\n%%", (n-10)/3) + repeat(".", (n-10)%3) }},
		"bytes of a line": {maxLine, func(n int) string { return "graph TD\nA[" + repeat("x", n-len("A[]")) + "]" }},
		"nodes":           {maxNodes, func(n int) string { return "graph TD" + numbered("N#", n) }},
		"bends":           {maxNodes, func(n int) string { return chain + "\nN0 --> N200" + numbered("X#", n-201-199) }},
		"edges":           {maxEdges, func(n int) string { return "graph TD" + numbered("A --> B", n-4) + "\nA & B --> C & D" }},
		"subgraphs":       {maxClusters, func(n int) string { return "graph TD" + numbered("subgraph S#\nN#\nend", n) }},
		"participants":    {maxEdges, func(n int) string { return "sequenceDiagram" + numbered("participant P#", n) }},
		"steps":           {maxEdges, func(n int) string { return "sequenceDiagram\nparticipant A\nloop x" + numbered("else", n-2) + "\nend" }},
		"rows of a chart": {maxRows, func(n int) string {
			return "graph TD\nA[a" + repeat(`\n`, 240) + "a] --> B[b" + repeat(`\n`, n-248) + "b]"
		}},
		"rows of a sequence": {maxRows, func(n int) string {
			return "sequenceDiagram\nA->>B: a" + repeat(`\n`, 240) + "a\nA->>B: b" + repeat(`\n`, n-248) + "b"
		}},
	} {
		if Draw(c.diagram(c.limit), 1_000_000) == nil {
			t.Errorf("%s: a diagram of %d is not drawn", name, c.limit)
		}
		if Draw(c.diagram(c.limit+1), 1_000_000) != nil {
			t.Errorf("%s: a diagram of %d is drawn", name, c.limit+1)
		}
	}
}

// random returns a flowchart of n nodes.
func random(r *rand.Rand, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "graph %s\n", []string{"TD", "LR", "BT", "RL"}[r.IntN(4)])
	for range 1 + r.IntN(2*n) {
		arrow := []string{"-->", "-.->", "==>", "---", "-->|yes|", "<-->"}[r.IntN(6)]
		fmt.Fprintf(&b, "N%d %s N%d\n", r.IntN(n), arrow, r.IntN(n))
	}
	return b.String()
}

// Lines of different edges join only where the edges have the same node at that end. Elsewhere they cross.
func TestLinesJoinAtNodes(t *testing.T) {
	r, drawn := rand.New(rand.NewPCG(1, 2)), 0
	const rounds = 200
	for range rounds {
		source := random(r, 2+r.IntN(6))
		for _, loose := range []bool{false, true} {
			l := newLayout(statements(source)[1:], source[6:8], loose)
			if l == nil || len(l.draw(false, 200)) == 0 || l.starts[len(l.starts)-1] > 150 {
				continue
			}
			drawn++
			type use struct {
				*link
				cell
			}
			uses := map[int][]use{}
			for rank := range l.gaps {
				for _, trunk := range l.gaps[rank].trunks {
					for _, k := range trunk.links {
						p := &pen{canvas: newCanvas(200, 200), sideways: l.sideways}
						l.line(p, k, trunk, rank)
						for i, c := range p.cells {
							if c.across || c.along || c.corner != 0 || c.text != "" {
								uses[i] = append(uses[i], use{k, c})
							}
						}
					}
				}
			}
			for i, all := range uses {
				for _, a := range all {
					for _, b := range all {
						crossing := a.corner == 0 && b.corner == 0 && a.across != b.across && a.text == "" && b.text == ""
						if !crossing && !(a.a == b.a && a.from == b.from) && !(a.b == b.b && a.to == b.to) && a.edge != b.edge {
							t.Fatalf("%s\nloose %t: lines of %s-%s and %s-%s meet at %d, %d\n%s", source, loose, a.edge.from.id, a.edge.to.id, b.edge.from.id, b.edge.to.id,
								i%200, i/200, strings.Join(l.draw(false, 200), "\n"))
						}
					}
				}
			}
			break
		}
	}
	if drawn < rounds*8/10 {
		t.Errorf("only %d of %d charts are drawn", drawn, rounds)
	}
}

func checkLines(t *testing.T, source string) {
	t.Helper()
	for _, width := range []int{1, 20, 80} {
		for _, line := range Draw(source, width) {
			if got := textwrap.Width(line); got > width || strings.ContainsAny(line, "\n\x1b") && !strings.Contains(source, "\x1b") {
				t.Errorf("%q: %d cells in %d: %q", source, got, width, line)
			}
		}
	}
}

func FuzzDraw(f *testing.F) {
	data, err := os.ReadFile("testdata/drawings.txt")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(data), "\n====\n") {
		source, _, _ := strings.Cut(part, "\n....\n")
		f.Add(source)
	}
	f.Add("graph LR\nA[漢字] --> B[\"👩‍👩‍👧 é\"]")
	f.Add("graph TD\nA & B\nsubgraph empty")
	f.Add("graph TD\nA[#27;#91;31m #155;31m #9; #10; &#27;c]")
	f.Add("graph TD\nA[(\xc7)]\nB")
	f.Fuzz(checkLines)
}

// Charts at the limits of nodes, edges and subgraphs take milliseconds, whether they are drawn or not.
func BenchmarkLarge(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	var chain, layers, subgraphs strings.Builder
	for i := range maxNodes {
		fmt.Fprintf(&chain, "N%d --> N%d\n", i, min(i+1, maxNodes-1))
		fmt.Fprintf(&layers, "N%d --> N%d\n", i, min(i/20*20+20+r.IntN(20), maxNodes-1))
		const size = maxNodes / maxClusters
		if i%size == 0 {
			fmt.Fprintf(&subgraphs, "end\nsubgraph S%d\n", i)
		}
		fmt.Fprintf(&subgraphs, "N%d --> N%d\n", i, i/size*size+min(i%size+1, size-1))
	}
	for name, statements := range map[string]string{"chain": chain.String(), "layers": layers.String(), "subgraphs": subgraphs.String() + "end"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Draw("graph LR\n"+statements, 10_000)
			}
		})
	}
}

// Statements are read as Mermaid's parser does: its vertices and edges were compared with these.
func TestParse(t *testing.T) {
	for line, want := range map[string]string{
		"A-->B-->C": "A-->B B-->C", "A & B --> C & D": "A-->C A-->D B-->C B-->D", "A --text--> B": "A-text->B", "A-.text.->C": "A.text.>C",
		"A==text==>D": "A=text=>D", `A -- "quoted - text" --> D`: "A-quoted - text->D", "A -- a-b --> D": "A-a-b->D", "A --> id-with-dash": "A-->id-with-dash",
		"id.dot --> A": "id.dot-->A", "A----B": "A---B", "A-...->C": "A.>C", "A===>D": "A==>D", `E[a] -->|x > y| F["b (c)"]`: "E-x > y->F",
		"G(\"x; y\") --> H": "G-->H", "1 --> 2a; 2a --> 3": "1-->2a 2a-->3", "A---oB": "A--○B", "A --x B": "A--×B", "I o--o J": "I○--○J", "I <--> J": "I>-->J",
		"x1 --> o1": "x1-->o1", "A@{ shape: diam, label: \"New\" } --> B:::c": "A-->B", "A--": "", "A --> ": "", "-->": "", "A e1@--> B": "",
	} {
		var got []string
		if c := parseChart([]string{line}); c != nil {
			for _, e := range c.edges {
				head := e.head
				if head == "" {
					head = "-"
				}
				line := [...]string{"-", ".", "="}[e.style]
				if e.label == nil && e.style != dotted {
					line += line
				}
				got = append(got, e.from.id+e.tail+line+strings.Join(e.label, "\n")+strings.Repeat(line[:1], min(len(e.label), 1))+head+e.to.id)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
