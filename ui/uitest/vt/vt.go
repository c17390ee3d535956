// Package vt is a terminal for tests: what is written to it, it shows. It knows
// the sequences that a screen of ours may write and complains about every other,
// and about what terminals do not agree on.
package vt

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A Terminal shows what is written to it.
type Terminal struct {
	Clusters bool // it draws a grapheme cluster as one; otherwise rune by rune
	X, Y     int  // of its cursor
	Pen      Cell // that the next character is drawn with
	Record

	w, h        int
	cells       [][]Cell
	top, bottom int    // margins
	shellAt     [2]int // the cursor of the shell's screen, while another one is shown: X, Y
	modes       map[string]bool
	titles      []string
	rest        string // of a sequence that has not all come
}

// A Record is what was written beside what stands on the screen.
type Record struct {
	Title    string   // of its window
	Progress string   // that its window shows, as it was sent
	Copied   string   // to its clipboard, as it was sent
	Keys     []string // kitty's stack of flags
	Bytes    int      // written so far
	Wrong    []string // what no screen of ours should have written
}

// A Cell is one column of a row.
type Cell struct {
	Text  string // "" after a wide one
	Style uv.Style
	Link  uv.Link
}

// New returns a terminal as a shell has it, which shows nothing in particular.
func New(w, h int) *Terminal {
	v := &Terminal{Clusters: true, modes: map[string]bool{"7": true, "25": true}, Record: Record{Title: "shell"}}
	v.Resize(w, h)
	return v
}

// Resize leaves what no terminal agrees about.
func (v *Terminal) Resize(w, h int) {
	v.w, v.h, v.top, v.bottom = w, h, 0, h-1
	v.cells = make([][]Cell, h)
	for y := range v.cells {
		v.cells[y] = make([]Cell, w)
		for x := range v.cells[y] {
			v.cells[y][x] = Cell{Text: "#", Style: uv.Style{Attrs: uv.AttrBold}}
		}
	}
	v.X, v.Y = w/2, h/2
}

func (v *Terminal) wrong(format string, args ...any) {
	v.Wrong = append(v.Wrong, fmt.Sprintf(format, args...))
}

var (
	csi = regexp.MustCompile(`^\x1b\[([<>=?]?)([0-9;:]*)([ $]?)([@-~])`)
	osc = regexp.MustCompile(`^\x1b\]([0-9]+)(?:;([^\a\x1b]*))?(?:\a|\x1b\\)`)
)

// Write shows b. It never fails.
func (v *Terminal) Write(b []byte) (int, error) {
	const longest = 1 << 12
	v.Bytes += len(b)
	s := v.rest + string(b)
	for s != "" {
		n := v.step(s)
		if n == 0 && len(s) < longest {
			break
		}
		if n == 0 {
			v.wrong("what is %.40q", s)
			n = 1
		}
		s = s[n:]
	}
	v.rest = s
	return len(b), nil
}

// step takes in the first of s, and returns its length; 0 if that is not known
// yet.
func (v *Terminal) step(s string) int {
	switch s[0] {
	case '\x1b':
		if m := csi.FindStringSubmatch(s); m != nil {
			v.csi(m[0], m[1], m[2], m[3]+m[4])
			return len(m[0])
		}
		if m := osc.FindStringSubmatch(s); m != nil {
			v.osc(m[1], m[2])
			return len(m[0])
		}
		return 0
	case '\r':
		v.X = 0
		return 1
	case '\b':
		v.X = max(v.X-1, 0)
		return 1
	case '\n':
		if v.Y == v.bottom {
			v.wrong("a line feed on the last line scrolls")
		}
		v.Y++
		return 1
	}
	if !utf8.FullRuneInString(s) {
		return 0
	}
	if v.Clusters {
		cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		v.print(cluster, width)
		return len(cluster)
	}
	r, n := utf8.DecodeRuneInString(s)
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		v.wrong("control character %U", r)
	}
	v.print(s[:n], ansi.StringWidthWc(s[:n]))
	return n
}

func (v *Terminal) print(text string, width int) {
	if width == 0 {
		if v.Clusters {
			v.wrong("%q has no width", text)
		}
		return // joined to what is there, which this test does not look at
	}
	if v.X+width > v.w {
		if v.Clusters {
			v.wrong("%q at %d,%d runs over the margin", text, v.X, v.Y)
		}
		v.X = max(v.w-width, 0)
	}
	v.free(v.X)
	v.free(v.X + width - 1)
	for i := range min(width, v.w-v.X) {
		v.cells[v.Y][v.X+i] = Cell{"", v.Pen.Style, v.Pen.Link}
	}
	v.cells[v.Y][v.X].Text = text
	if v.X += width; v.X >= v.w {
		if v.modes["7"] {
			v.wrong("lines run over")
		}
		v.X = v.w - 1
	}
}

// free clears the wide character that covers column x.
func (v *Terminal) free(x int) {
	row := v.cells[v.Y]
	from, to := x, x+1
	for from > 0 && row[from].Text == "" {
		from--
	}
	for to < v.w && row[to].Text == "" {
		to++
	}
	if to-from < 2 {
		return
	}
	for i := from; i < to; i++ {
		row[i].Text = " "
	}
}

func (v *Terminal) erased() Cell { return Cell{Text: " ", Style: uv.Style{Bg: v.Pen.Style.Bg}} }

func (v *Terminal) csi(seq, prefix, params, final string) {
	var n []int
	for p := range strings.SplitSeq(params, ";") {
		i, _ := strconv.Atoi(p)
		n = append(n, i)
	}
	switch n1 := max(n[0], 1); prefix + final {
	case "m":
		p := ansi.GetParser()
		defer ansi.PutParser(p)
		ansi.DecodeSequence(seq, 0, p)
		uv.ReadStyle(p.Params(), &v.Pen.Style)
	case "H":
		n = append(n, 1)
		v.Y, v.X = max(n[0], 1)-1, max(n[1], 1)-1
		if v.Y >= v.h || v.X >= v.w {
			v.wrong("the cursor goes to %d,%d", v.X, v.Y)
		}
	case "G":
		v.X = n1 - 1
	case "C":
		v.X = min(v.X+n1, v.w-1)
	case "K":
		v.free(v.X)
		for x := v.X; x < v.w; x++ {
			v.cells[v.Y][x] = v.erased()
		}
	case "M", "L":
		v.shift(n1, final == "M")
	case "r":
		v.top, v.bottom, v.X, v.Y = 0, v.h-1, 0, 0
		if params != "" {
			v.top, v.bottom = n[0]-1, n[1]-1
		}
	case "?h", "?l":
		v.mode(params, final[0] == 'h')
	case ">m":
		v.modes["keys"] = params == "4;2"
	case ">u":
		v.Keys = append(v.Keys, params)
	case "<u":
		if len(v.Keys) == 0 {
			v.wrong("the keyboard's stack is empty")
			return
		}
		v.Keys = v.Keys[:len(v.Keys)-1]
	case " q":
		v.modes["shape"] = n[0] != 0
	case "t":
		v.stack(params)
	case "?u", "?$p":
	default:
		v.wrong("sequence %q", seq)
	}
}

func (v *Terminal) mode(name string, on bool) {
	if name == "2026" && v.modes[name] == on {
		v.wrong("an update in an update")
	}
	was := v.modes[name]
	v.modes[name] = on
	if name == "1049" && was != on {
		if !on {
			v.X, v.Y = v.shellAt[0], v.shellAt[1]
			return
		}
		v.shellAt = [2]int{v.X, v.Y}
	}
	if name == "1049" && on {
		for y := range v.cells {
			for x := range v.cells[y] {
				v.cells[y][x] = Cell{Text: " "}
			}
		}
	}
}

func (v *Terminal) stack(params string) {
	switch params {
	case "22;2":
		v.titles = append(v.titles, v.Title)
	case "23;2":
		v.Title, v.titles = v.titles[len(v.titles)-1], v.titles[:len(v.titles)-1]
	default:
		v.wrong("window operation %q", params)
	}
}

func (v *Terminal) shift(n int, up bool) {
	if v.Y < v.top || v.Y > v.bottom {
		v.wrong("lines are moved outside of the region")
	}
	rows := v.cells[v.Y : v.bottom+1]
	for range n {
		blank := make([]Cell, v.w)
		for x := range blank {
			blank[x] = v.erased()
		}
		if up {
			copy(rows, rows[1:])
			rows[len(rows)-1] = blank
		} else {
			copy(rows[1:], rows)
			rows[0] = blank
		}
	}
	v.X = 0
}

func (v *Terminal) osc(number, text string) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl) {
		v.wrong("a control character in %q of %s", text, number)
	}
	switch number {
	case "2":
		v.Title = text
	case "8":
		params, url, _ := strings.Cut(text, ";")
		v.Pen.Link = uv.Link{URL: url, Params: params}
	case "9":
		v.Progress = text
	case "10", "11", "12":
		v.modes[number] = text != "?"
	case "110", "111", "112":
		v.modes[number[1:]] = false
	case "52":
		v.Copied = text
	default:
		v.wrong("sequence OSC %s", number)
	}
}

// Cell returns what stands in a column of a row.
func (v *Terminal) Cell(x, y int) Cell { return v.cells[y][x] }

// Rows returns the text that is seen.
func (v *Terminal) Rows() []string {
	var rows []string
	for _, cells := range v.cells {
		var b strings.Builder
		for _, c := range cells {
			b.WriteString(c.Text)
		}
		rows = append(rows, strings.TrimRight(b.String(), " "))
	}
	return rows
}

// Margins reports whether only a part of the rows scrolls.
func (v *Terminal) Margins() bool { return v.top != 0 || v.bottom != v.h-1 }

// On reports whether a mode is.
func (v *Terminal) On(mode string) bool { return v.modes[mode] }

// Modes lists the modes that are on, but for 7, lines that run over, which a
// shell has on and a screen off.
func (v *Terminal) Modes() string {
	var on []string
	for mode, is := range v.modes {
		if is && mode != "7" {
			on = append(on, mode)
		}
	}
	slices.Sort(on)
	if v.modes["7"] == v.modes["1049"] {
		on = append(on, "7?")
	}
	return strings.Join(on, " ")
}
