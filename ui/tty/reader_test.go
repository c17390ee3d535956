package tty_test

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/ui/tty"
	"parley/ui/uitest"
)

// TestReader: input of terminals has the same meaning however it is split.
func TestReader(t *testing.T) {
	for sent, want := range map[string]string{
		"abc":                                 "abc",
		"aéb日本語👩‍👩‍👧z":                        "aéb日本語👩‍👩‍👧z",
		"\r\t\x7f\x01\x03":                    "<enter><tab><backspace><ctrl+a><ctrl+c>",
		"ab\x1b[DX":                           "ab<left>X",
		"\x1bOP\x1bOA\x1b[15~":                "<f1><up><f5>",
		"\x1b[1;3A\x1b[3;5~":                  "<alt+up><ctrl+delete>",
		"\x1b\x1b[A\x1b\x1bOB":                "<alt+up><alt+down>",
		"\x1b[[A\x1b[[E":                      "<f1><f5>",
		"\x1b[5$x":                            "<shift+pgup>x",
		"\x1bb\x1b\r\x1b\x7f":                 "<alt+b><alt+enter><alt+backspace>",
		"\x1b\x00\x1b\x06\x1b\x1f":            "<ctrl+alt+space><ctrl+alt+f><ctrl+alt+_>",
		"\x1bB\x1bX\x1b^\x1bé":                "<alt+shift+b><alt+shift+x><alt+^><alt+é>",
		"\x1b<\x1b>\x1b_\r":                   "<alt+<><alt+>><alt+_><enter>",
		"\x1b[\r\x1bO\r\x1b]\r":               "<alt+[><enter><alt+shift+o><enter><alt+]><enter>",
		"\x1b\x1b\x1b\x1bx":                   "<alt+esc><alt+esc>x",
		"\x1b\x1b[\rx":                        "<alt+esc>[<enter>x",
		"x\xffy\x9bz\xc3(":                    "xyz(",
		"\x1b[1;\rx":                          "<enter>x",
		"\x1b[1;\x1b[Ax":                      "<up>x",
		"\x1b]11;rgb:ff\x03x":                 "<ctrl+c>x",
		"\x1bP>|x\x1b[Ay":                     "<up>y",
		"\x1b[97;5u\x1b[44:60;4u":             "<ctrl+a><alt+shift+,>",
		"\x1b[27u\x1b[13;2u":                  "<esc><shift+enter>",
		"\x1b[I\x1b[O":                        "<uv.FocusEvent {}><uv.BlurEvent {}>",
		"\x1b[<0;5;6Mx\x1b[<64;5;6M\x1b[M !!": "<uv.MouseClickEvent left>x<uv.MouseWheelEvent wheelup><uv.MouseClickEvent left>",
		"\x1b[?2026;2$yx":                     "<uv.ModeReportEvent {2026 2}>x",
		"\x1b[?1ux\x1b[?62;22cy":              "<uv.KeyboardEnhancementsEvent {1}>x<uv.PrimaryDeviceAttributesEvent [62 22]>y",
		"\x1bP>|xterm(1)\x1b\\x":              "<uv.TerminalVersionEvent xterm(1)>x",
		"\x1b]52;c;YQ==\x1b\\x":               "<uv.ClipboardEvent a>x",

		"\x1b[200~one\rtwo\x1b[201~x":             "<<one\rtwo>>x",
		"\x1b[200~\x1b[201~\x1b[200~a\x1b[201~":   "<<>><<a>>",
		"\x1b[200~日本語\x1b[2\x1b[201~x":            "<<日本語␛[2>>x",
		"\x1b[200~\x1b]0;a\x07\x1b[31m\x1b[201~x": "<<␛]0;a\a␛[31m>>x",
		"\x1b[200~a\x1bP\x1b_\x1b\x1b[201~x":      "<<a␛P␛_␛>>x",
		"\x1b[200~a\xff\xc3\x1b[201~x":            "<<a>>x",
		"\x1b\x1b[I\x1b\x1b[5~\x1b\x1b[X":         "<esc><uv.FocusEvent {}><alt+pgup><esc><uv.UnknownCsiEvent \"\\x1b[X\">",
		// An incomplete sequence is dropped.
		"a\x1b]00;\x1b\\b\x1b]2;Ü\ac":                      "abc",
		"a\x1bP\x1b\\b\x1bP1é\x1b\\c\x1b_é\x1b\\d":         "abcd",
		"a\x1b[" + strings.Repeat("1;", 40) + "1mb\uFFFDc": "abc",
	} {
		if got := uitest.Events(t, sent); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", sent, got, want)
		}
		uitest.Cut(t, sent)
	}
	for _, sent := range answers {
		uitest.Cut(t, sent+"x")
		if got := uitest.Events(t, sent); strings.HasSuffix(got, "x") {
			t.Errorf("%q writes %q", sent, got)
		}
	}
	uitest.Cut(t, strings.Join(answers, "x"))
}

// answers lists replies and reports of terminals.
var answers = []string{
	"\x1b[?62;22c", "\x1b[>1;4000;0c", "\x1b[24;80R", "\x1b[0n", "\x1b[?2026;2$y", "\x1b[4;1$y", "\x1b[?1u", "\x1b[I", "\x1b[O", "\x1b[8;24;80t", "\x1b[?997;1n",
	"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]10;rgb:0000/0000/0000\a", "\x1bP>|xterm(1)\x1b\\", "\x1bP1$r0m\x1b\\", "\x1b_Gi=31;OK\x1b\\",
	"\x1bP1+r524742=382f382f38\x1b\\", "\x1bP!|7E565445\x1b\\", "\x1b[<35;120;40m", "\x1b[1;1:3A",
}

// TestReaderTimes: esc becomes a key soon if nothing follows it, and the beginning of a sequence
// becomes one after a second. Longer pieces of a sequence are dropped, but never a part of a
// character or of the end of a paste.
func TestReaderTimes(t *testing.T) {
	const soon, late, never = 60 * time.Millisecond, 1100 * time.Millisecond, time.Hour
	for name, c := range map[string]struct {
		pieces []any
		want   string
	}{
		"esc":                         {[]any{"\x1b", soon, "[A"}, "<esc>[A"},
		"esc at the end":              {[]any{"a\x1b"}, "a<esc>"},
		"esc esc":                     {[]any{"\x1b", soon, "\x1b"}, "<esc><esc>"},
		"two quick esc":               {[]any{"\x1b\x1b", soon, "x"}, "<alt+esc>x"},
		"vi's esc and [":              {[]any{"\x1b", soon, "["}, "<esc>["},
		"alt+[":                       {[]any{"\x1b[", late, "A"}, "<alt+[>A"},
		"alt+[ at the end":            {[]any{"\x1b["}, "<alt+[>"},
		"alt+O":                       {[]any{"\x1bO", late, "A"}, "<alt+shift+o>A"},
		"alt+]":                       {[]any{"\x1b]", late, "11"}, "<alt+]>11"},
		"alt+P":                       {[]any{"\x1bP", late, "x"}, "<alt+shift+p>x"},
		"alt+_":                       {[]any{"\x1b_", late, "x"}, "<alt+_>x"},
		"two quick esc and [":         {[]any{"\x1b\x1b[", late, "A"}, "<alt+esc>[A"},
		"a piece of a report":         {[]any{"\x1b[<0;5", late, "x"}, "x"},
		"a piece of a color":          {[]any{"\x1b]11;rgb:ff", late, "x"}, "x"},
		"a piece of a version":        {[]any{"\x1bP>|xte", late, "x"}, "x"},
		"a slow report, byte by byte": {[]any{"\x1b[", soon, "<", soon * 10, "0;", soon * 10, "5;5", soon * 10, "Mx"}, "<uv.MouseClickEvent left>x"},
		"a piece of a character":      {[]any{"\xe6\x97", never, "\xa5"}, "日"},
		"a piece of the end":          {[]any{"\x1b[200~a\x1b[2", never, "01~x"}, "<<a>>x"},
		"an esc of the end":           {[]any{"\x1b[200~a\x1b", never, "[201~x"}, "<<a>>x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := uitest.Events(t, c.pieces...); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestLateKeys: a key is read before the input after it is complete.
func TestLateKeys(t *testing.T) {
	line := &uitest.Line{Pieces: []any{"ab\x1b[A\x1b["}}
	r, buf := tty.NewReader(line), make([]byte, 16)
	for _, want := range []string{"ab", "\x1b[A"} {
		n, err := r.Read(buf)
		if got := string(buf[:n]); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	if len(line.Pieces) > 0 {
		t.Errorf("%q were not read", line.Pieces)
	}
}

// FuzzReader: the same bytes have the same meaning, however they are split.
func FuzzReader(f *testing.F) {
	for _, sent := range append(answers, "a\x1b[200~é\x1b[201~\x1b\x1b[A", "\x1b[44:60:44;4u\x1b[5$\x1b[[A\x1b[M !!") {
		f.Add(sent)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		if len(sent) > 0 {
			uitest.Cut(t, sent)
		}
	})
}

// Next returns text of limited size, and keys in two forms: as sent, and in one that its decoder knows.
func TestNext(t *testing.T) {
	for _, tt := range []struct {
		sent  string
		limit int
		keys  []string
	}{
		{"abcdef", 4, []string{"abcd", "ef"}},
		{"abcdef", 0, []string{"abcd", "ef"}},
		{"abcéf", 4, []string{"abc", "éf"}},
		{"abcéf", 5, []string{"abcé", "f"}},
		{"👩x", 1, []string{"👩", "x"}},
		{"\x1b[1089:1057:99;6u", 9, []string{"\x1b[1089::99;6u"}},
		{"\x1b[97:65:97;2u", 9, []string{"\x1b[97:65;2u"}},
		{"\x1b[47:63:45;5u", 9, []string{"\x1b[47:63;5u"}},
		{"\x1b[97::99;5u\x1b[97:65;5u\x1b[97:65:97;5~", 9, []string{"\x1b[97::99;5u", "\x1b[97:65;5u", "\x1b[97:65:97;5~"}},
		{"\x1b[5$\x1b[[A\x1b[[E", 9, []string{"\x1b[5;2~", "\x1b[11~", "\x1b[15~"}},
		{"\x1b[[@x\x1b[[Fx", 9, []string{"@x", "Fx"}},
		{"\x1b\x1a\x1b\x1c\x1b\x1bx", 9, []string{"\x1b[122;7u", "\x1b[92;7u", "\x1b[27;3u", "x"}},
		{"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16mx", 9, []string{"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16m", "x"}},
		{"\x1b[1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16:17mx", 9, []string{"x"}},
		{"\x1bP1234567890123456q\x1b\\x\x1bP12345678901234567q\x1b\\y", 9, []string{"\x1bP1234567890123456q\x1b\\", "x", "y"}},
		{"\x1b]11;a\ax\x1b]11;\ay\x1b]11\az\x1b];\a", 9, []string{"\x1b]11;a\a", "x", "y", "z"}},
		{"\x1bP1\x1b\\x\x1bP1 \x1b\\y\x1bP1@\x1b\\", 9, []string{"x", "y", "\x1bP1@\x1b\\"}},
		{"\x1b[$px", 9, []string{"\x1b[$p", "x"}},
		{"\x1b_ ~\x1b\\\x1b_\x7f\x1b\\", 9, []string{"\x1b_ ~\x1b\\"}},
		{"\x1b[\x7fx\x1b[1\x7fy", 9, []string{"\x1b[91;3u", "\x7fx", "\x7fy"}},
		{"\x1bO!\x1bO~\x1bO x", 9, []string{"\x1bO!", "\x1bO~", "\x1b[111;4u", " x"}},
	} {
		r := tty.NewReader(&uitest.Line{Pieces: []any{tt.sent}})
		var keys []string
		for {
			_, key, err := r.Next(tt.limit)
			if err != nil {
				break
			}
			keys = append(keys, string(key))
		}
		if !slices.Equal(keys, tt.keys) {
			t.Errorf("%q: got %q, want %q", tt.sent, keys, tt.keys)
		}
	}
}

// A failing File is the end of the Reader: as the end of input if it is paused.
func TestReaderEnds(t *testing.T) {
	for err, want := range map[error]error{tty.ErrPaused: io.EOF, io.ErrClosedPipe: io.ErrClosedPipe} {
		r := tty.NewReader(failing{err: err})
		if n, got := r.Read(make([]byte, 4)); n != 0 || got != want {
			t.Errorf("%v: read %d, %v, want %v", err, n, got, want)
		}
	}
	r, buf, got := tty.NewReader(&uitest.Line{Pieces: []any{"\x1b[15~ab"}}), make([]byte, 2), ""
	for range 4 {
		n, _ := r.Read(buf)
		got += string(buf[:n]) + "|"
	}
	if want := "\x1b[|15|~|ab|"; got != want {
		t.Errorf("in pieces: got %q, want %q", got, want)
	}
}

type failing struct {
	tty.File
	err error
}

func (f failing) ReadWithin([]byte, time.Duration) (int, error) { return 0, f.err }

func TestText(t *testing.T) {
	for line, want := range map[string]string{
		"abc":                 "abc",
		"a\x1b[Ab\x1bOPc":     "abc",
		"a\xffé\xc3":          "a\uFFFDé\uFFFD",
		"a\x1bb":              "ab",
		"a\x1b":               "a",
		"a\x1b[":              "a[",
		"a\x1b[1;":            "a",
		"a\x1b]0;title\ab":    "ab",
		"a\x1b]0;title":       "a",
		"a\x1b[1;\rb":         "a\rb",
		"\x1b[200~x\x1b[201~": "x",
		"a\x1b\x1b[Ab":        "ab",
	} {
		if got := tty.Text([]byte(line)); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}
