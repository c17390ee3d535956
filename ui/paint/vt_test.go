package paint

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// A vt is a terminal: what a Screen writes to it, it shows. It knows no sequence
// but those that a Screen may write, and notes every other.
type vt struct {
	t           testing.TB
	clusters    bool // it draws a grapheme cluster as one; otherwise rune by rune
	w, h, x, y  int
	cells       [][]vcell
	pen         vcell
	top, bottom int
	modes       map[string]bool
	title       string
	titles      []string
	keys        []string // kitty's stack
	progress    string
	copied      string
	written     int
	history     string // all text that was printed
}

type vcell struct {
	text  string // "" behind a wide one
	style uv.Style
	link  uv.Link
}

func newVT(t testing.TB, w, h int) *vt {
	v := &vt{t: t, clusters: true, modes: map[string]bool{"7": true, "25": true}, title: "shell"}
	v.resize(w, h)
	return v
}

// resize leaves what no terminal agrees about.
func (v *vt) resize(w, h int) {
	v.w, v.h, v.top, v.bottom = w, h, 0, h-1
	v.cells = make([][]vcell, h)
	for y := range v.cells {
		v.cells[y] = make([]vcell, w)
		for x := range v.cells[y] {
			v.cells[y][x] = vcell{text: "#", style: uv.Style{Attrs: uv.AttrBold}}
		}
	}
	v.x, v.y = w/2, h/2
}

var (
	vtCSI = regexp.MustCompile(`^\x1b\[([<>=?]?)([0-9;:]*)([ $]?)([@-~])`)
	vtOSC = regexp.MustCompile(`^\x1b\]([0-9]+)(?:;([^\a\x1b]*))?(?:\a|\x1b\\)`)
)

func (v *vt) Write(b []byte) (int, error) {
	v.written += len(b)
	for s := string(b); s != ""; {
		n := v.step(s)
		if n == 0 {
			v.t.Fatalf("cannot read %.60q", s)
		}
		s = s[n:]
	}
	return len(b), nil
}

func (v *vt) step(s string) int {
	switch s[0] {
	case '\x1b':
		if m := vtCSI.FindStringSubmatch(s); m != nil {
			v.csi(m[0], m[1], m[2], m[3]+m[4])
			return len(m[0])
		}
		if m := vtOSC.FindStringSubmatch(s); m != nil {
			v.osc(m[1], m[2])
			return len(m[0])
		}
		return 0
	case '\r':
		v.x = 0
		return 1
	case '\b':
		v.x = max(v.x-1, 0)
		return 1
	case '\n':
		if v.y == v.bottom {
			v.t.Errorf("a line feed on the last line scrolls")
		}
		v.y++
		return 1
	}
	if v.clusters {
		cluster, width := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		v.print(cluster, width)
		return len(cluster)
	}
	r, n := utf8.DecodeRuneInString(s)
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		v.t.Errorf("control character %U", r)
	}
	v.print(s[:n], ansi.StringWidthWc(s[:n]))
	return n
}

func (v *vt) print(text string, width int) {
	v.history += text
	if width == 0 {
		if v.clusters {
			v.t.Errorf("%q has no width", text)
		}
		return // joined to what is there, which this test does not look at
	}
	if v.x+width > v.w {
		if v.clusters {
			v.t.Errorf("%q at %d,%d runs over the margin", text, v.x, v.y)
		}
		v.x = max(v.w-width, 0)
	}
	v.free(v.x)
	v.free(v.x + width - 1)
	for i := range min(width, v.w-v.x) {
		v.cells[v.y][v.x+i] = vcell{"", v.pen.style, v.pen.link}
	}
	v.cells[v.y][v.x].text = text
	if v.x += width; v.x >= v.w {
		if v.modes["7"] {
			v.t.Errorf("lines run over")
		}
		v.x = v.w - 1
	}
}

// free makes nothing of a wide character of which x is a part.
func (v *vt) free(x int) {
	row := v.cells[v.y]
	from, to := x, x+1
	for from > 0 && row[from].text == "" {
		from--
	}
	for to < v.w && row[to].text == "" {
		to++
	}
	if to-from < 2 {
		return
	}
	for i := from; i < to; i++ {
		row[i].text = " "
	}
}

func (v *vt) erased() vcell { return vcell{text: " ", style: uv.Style{Bg: v.pen.style.Bg}} }

func (v *vt) csi(seq, prefix, params, final string) {
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
		uv.ReadStyle(p.Params(), &v.pen.style)
	case "H":
		n = append(n, 1)
		v.y, v.x = max(n[0], 1)-1, max(n[1], 1)-1
		if v.y >= v.h || v.x >= v.w {
			v.t.Errorf("the cursor goes to %d,%d", v.x, v.y)
		}
	case "G":
		v.x = n1 - 1
	case "C":
		v.x = min(v.x+n1, v.w-1)
	case "K":
		v.free(v.x)
		for x := v.x; x < v.w; x++ {
			v.cells[v.y][x] = v.erased()
		}
	case "M", "L":
		v.shift(n1, final == "M")
	case "r":
		v.top, v.bottom, v.x, v.y = 0, v.h-1, 0, 0
		if params != "" {
			v.top, v.bottom = n[0]-1, n[1]-1
		}
	case "?h", "?l":
		v.mode(params, final[0] == 'h')
	case ">m":
		v.modes["keys"] = params == "4;2"
	case ">u":
		v.keys = append(v.keys, params)
	case "<u":
		if len(v.keys) == 0 {
			v.t.Fatal("the keyboard's stack is empty")
		}
		v.keys = v.keys[:len(v.keys)-1]
	case " q":
		v.modes["shape"] = n[0] != 0
	case "t":
		v.stack(params)
	case "?u", "?$p":
	default:
		v.t.Errorf("sequence %q", seq)
	}
}

func (v *vt) mode(name string, on bool) {
	if name == "2026" && v.modes[name] == on {
		v.t.Errorf("an update in an update")
	}
	v.modes[name] = on
	if name == "1049" && on {
		for y := range v.cells {
			for x := range v.cells[y] {
				v.cells[y][x] = vcell{text: " "}
			}
		}
	}
}

func (v *vt) stack(params string) {
	switch params {
	case "22;2":
		v.titles = append(v.titles, v.title)
	case "23;2":
		v.title, v.titles = v.titles[len(v.titles)-1], v.titles[:len(v.titles)-1]
	default:
		v.t.Errorf("window operation %q", params)
	}
}

func (v *vt) shift(n int, up bool) {
	if v.y < v.top || v.y > v.bottom {
		v.t.Errorf("lines are moved outside of the region")
	}
	rows := v.cells[v.y : v.bottom+1]
	for range n {
		blank := make([]vcell, v.w)
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
	v.x = 0
}

func (v *vt) osc(number, text string) {
	switch number {
	case "2":
		v.title = text
	case "8":
		params, url, _ := strings.Cut(text, ";")
		v.pen.link = uv.Link{URL: url, Params: params}
	case "9":
		v.progress = text
	case "10", "11", "12":
		v.modes[number] = text != "?"
	case "110", "111", "112":
		v.modes[number[1:]] = false
	case "52":
		v.copied = text
	default:
		v.t.Errorf("sequence OSC %s", number)
	}
}

// shows fails unless the terminal shows content, as Bubble Tea would draw it.
// Clusters that the terminal draws its own way may look as they want, as long as
// they stay in their place.
func (v *vt) shows(content string) {
	v.t.Helper()
	want := uv.NewScreenBuffer(v.w, v.h)
	want.Method = ansi.GraphemeWidth
	uv.NewStyledString(content).Draw(want, want.Bounds())
	for y := range v.h {
		for x := 0; x < v.w; x++ {
			c := want.CellAt(x, y)
			if !v.clusters && utf8.RuneCountInString(c.Content) > 1 {
				for to := x + max(c.Width, 1); x < to; x++ {
					if got := v.cells[y][x].text; got != " " && !strings.Contains(c.Content, got) {
						v.t.Fatalf("%q at column %d of row %d, where %q is", got, x, y, c.Content)
					}
				}
				x--
				continue
			}
			got, wanted := seen(v.cells[y][x]), seen(vcell{c.Content, c.Style, c.Link})
			if got != wanted {
				v.t.Fatalf("at column %d of row %d:\n got %+v\nwant %+v\nof %q", x, y, got, wanted, strings.Split(content, "\n")[y])
			}
		}
	}
	if v.pen.style != (uv.Style{}) || v.pen.link != (uv.Link{}) {
		v.t.Fatalf("the pen is left as %+v", v.pen)
	}
	if v.top != 0 || v.bottom != v.h-1 {
		v.t.Fatalf("a region is left from %d to %d", v.top, v.bottom)
	}
}

// switched lists the modes that are on, but for 7, lines that run over, which a
// shell has on and a screen off.
func switched(v *vt) string {
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

// seen is what a person sees of a cell.
func seen(c vcell) vcell {
	switch {
	case c.text == "": // of a wide one
		return vcell{}
	case c.text == " " && c.style.Attrs&(uv.AttrReverse|uv.AttrStrikethrough) == 0 && c.style.Underline == 0 && c.link == (uv.Link{}):
		c.style = uv.Style{Bg: c.style.Bg}
	}
	return c
}
