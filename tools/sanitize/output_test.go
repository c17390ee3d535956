package sanitize

import (
	"net/netip"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

const scotland = "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"

func TestOutput(t *testing.T) {
	tests := []struct {
		name, in, want              string
		escapes, invisible, invalid int
	}{
		{name: "plain", in: "a\tb\nä 😀\n", want: "a\tb\nä 😀\n"},
		{name: "color", in: "\x1b[1;31mred\x1b[0m", want: "red", escapes: 2},
		{name: "title", in: "a\x1b]0;title\x07b", want: "ab", escapes: 1},
		{name: "link", in: "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", want: "text", escapes: 2},
		{name: "device control", in: "a\x1bP$qm\x1b\\b", want: "ab", escapes: 1},
		{name: "character set", in: "\x1b(Ba\x1bcb", want: "ab", escapes: 2},
		{name: "never closed", in: "a\x1b]8;;http://x\nb", want: "a]8;;http://x\nb", escapes: 1},
		{name: "never closed, at the end", in: "a\x1b]8;;http://x", want: "a]8;;http://x", escapes: 1},
		{name: "broken", in: "\x1b[3\x01m", want: "[3m", escapes: 2},
		{name: "alone", in: "a\x1b", want: "a", escapes: 1},
		{name: "in front of another", in: "\x1b\x1b[31ma", want: "a", escapes: 2},
		{name: "too long", in: "\x1b]" + strings.Repeat("x", 5000), want: "]" + strings.Repeat("x", 5000), escapes: 1},
		{name: "too long, and closed", in: "\x1b[" + strings.Repeat("1", 5000) + "m", want: "[" + strings.Repeat("1", 5000) + "m", escapes: 1},
		{name: "C1", in: "a\u009b31mb", want: "a31mb", escapes: 1},
		{name: "backspace and bell", in: "a\bb\ac\x00d\x7f", want: "abcd", escapes: 4},
		{name: "C1 at its borders", in: "\u0080\u009f\u00a0", want: "\u00a0", escapes: 2},
		{name: "sequences at their borders", in: "\x1b0\x1b~\x1b /0\x1b \x7f\x1b[@\x1b[0 ?~", want: " ", escapes: 7},
		{name: "a line in a title", in: "\x1b]0;a\nb\x1b\\", want: "]0;a\nb", escapes: 2},
		{name: "the longest", in: "\x1b[" + strings.Repeat("1", 4093) + "m", want: "", escapes: 1},
		{name: "one more", in: "\x1b[" + strings.Repeat("1", 4094) + "m", want: "[" + strings.Repeat("1", 4094) + "m", escapes: 1},
		{name: "CRLF", in: "a\r\nb", want: "a\nb"},
		{name: "progress", in: "10%\r20%\r\n", want: "10%\n20%\n"},
		{name: "CR at the end", in: "a\r", want: "a\n"},
		{name: "not UTF-8", in: "a\xffb\xc3", want: "a\uFFFDb\uFFFD", invalid: 2},
		{name: "tags", in: "a" + "\U000E0068\U000E0069" + "b", want: "ab", invisible: 2},
		{name: "flag", in: "x" + scotland + "y", want: "x" + scotland + "y"},
		{name: "flag of letters and digits", in: "🏴\U000E0030\U000E0039\U000E0061\U000E007A\U000E007F", want: "🏴\U000E0030\U000E0039\U000E0061\U000E007A\U000E007F"},
		{name: "flag of something else", in: "🏴\U000E003A\U000E007F", want: "🏴", invisible: 2},
		{name: "flag of nothing", in: "🏴\U000E007F", want: "🏴", invisible: 1},
		{name: "flag with too many letters", in: "🏴" + strings.Repeat("\U000E0061", 7) + "\U000E007F", want: "🏴", invisible: 8},
		{name: "flag that is cut", in: "🏴\U000E0061", want: "🏴", invisible: 1},
		{name: "text after a flag", in: "🏴é", want: "🏴é"},
		{name: "flag with more behind it", in: "🏴" + strings.Repeat("\U000E0061", 20), want: "🏴", invisible: 20},
		{name: "family", in: "👨‍👩‍👧‍👦", want: "👨‍👩‍👧‍👦"},
		{name: "zero width", in: "a\u200Bb\u2060c\uFEFF", want: "abc", invisible: 3},
	}
	for _, test := range tests {
		for cut := 0; cut <= len(test.in); cut += 1 + len(test.in)/50 {
			var c Output
			got := c.Write([]byte(test.in[:cut])) + c.Write([]byte(test.in[cut:])) + c.Close()
			if got != test.want {
				t.Errorf("%s, cut at %d: got %q, want %q", test.name, cut, got, test.want)
				break
			}
			if c.Escapes != test.escapes || c.Invisible != test.invisible || c.Invalid != test.invalid {
				t.Errorf("%s, cut at %d: removed %d, %d and %d, want %d, %d and %d", test.name, cut, c.Escapes, c.Invisible, c.Invalid, test.escapes, test.invisible, test.invalid)
				break
			}
		}
	}
}

func FuzzOutput(f *testing.F) {
	for _, seed := range []string{"\x1b[31mred", "\x1b]0;x\x07\r\n", "\xe2\x80", scotland, "\x1b\x1b\\", "\x1bP\x1b"} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, size int) {
		var whole Output
		want := whole.Write(in) + whole.Close()
		if !utf8.ValidString(want) {
			t.Fatalf("%q became %q, which is not UTF-8", in, want)
		}
		for _, r := range want {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Fatalf("%q became %q", in, want)
			}
		}
		size = 1 + max(size, -size)%7
		var pieces Output
		var got strings.Builder
		for rest := in; len(rest) > 0; {
			n := min(max(size, 1), len(rest))
			got.WriteString(pieces.Write(rest[:n]))
			rest = rest[n:]
		}
		got.WriteString(pieces.Close())
		if got.String() != want {
			t.Fatalf("%q in pieces of %d: got %q, want %q", in, size, got.String(), want)
		}
	})
}

func TestVisible(t *testing.T) {
	tests := []struct {
		in, want string
		dropped  int
	}{
		{"plain ä", "plain ä", 0},
		{"a\U000E0041\U000E007Fb", "ab", 2},
		{scotland, scotland, 0},
		{"葛\U000E0100城", "葛\U000E0100城", 0}, // a variant of a Han character
		{"a\U000E0100\U000E0101", "a", 2},
		{"葛\U000E0100\U000E0101\U000E0102", "葛\U000E0100", 2}, // no more than one
		{"\u00AD\u200B\u2060\uFEFF", "", 4},
		{"❤️ 1️⃣", "❤️ 1️⃣", 0},
		{"🏴\U000E0067\U000E007Fx\U000E0067", "🏴\U000E0067\U000E007Fx", 1},
		{"\u034f\u180e\u00ad", "", 3},
		{"\u200a\u2060\u2064\u2065\U000DFFFF\U000E0000\U000E0FFF\U000E1000", "\u200a\u2065\U000DFFFF\U000E1000", 4},
		{"葛\U000E00FF葛\U000E01EF葛\U000E01F0", "葛葛\U000E01EF葛", 2},
	}
	for _, test := range tests {
		if got, dropped := RemoveHidden(test.in); got != test.want || dropped != test.dropped {
			t.Errorf("%q: got %q and %d, want %q and %d", test.in, got, dropped, test.want, test.dropped)
		}
	}
}

func TestNonPublic(t *testing.T) {
	public := []string{
		"1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.1",
		"169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0", "223.255.255.255",
		"2606:4700:4700::1111", "2a00:1450:4001:82a::200e", "2001:200::1", "2400::1",
	}
	blocked := []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.255", "168.63.129.16",
		"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1",
		"198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"::", "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1",
		"100::1", "2001::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:10::1", "2001:db8::1", "2002:7f00:1::", "3fff::1",
		"4000::1", "5f00::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
		"2606:4700::5efe:7f00:1", "2606:4700::200:5efe:a00:1",
	}
	for _, in := range public {
		if why := NonPublic(netip.MustParseAddr(in)); why != "" {
			t.Errorf("%s: got %q", in, why)
		}
	}
	for _, in := range blocked {
		if NonPublic(netip.MustParseAddr(in)) == "" {
			t.Errorf("%s is taken for public", in)
		}
	}
	if NonPublic(netip.Addr{}) == "" {
		t.Error("no address is taken for public")
	}
}

func TestComplete(t *testing.T) {
	for in, want := range map[string]string{"": "", "a": "a", "aé": "aé", "a\xc3": "a", "a\xe2\x82": "a", "a\xf0\x9f\x98": "a", "\xf0": "", "a\xff": "a\xff", "\x82\x82\x82\x82\x82": "\x82\x82\x82\x82\x82", "€": "€", "😀": "😀"} {
		if got := Complete(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// TestAppend: a backspace removes the character before it, also one that came earlier.
func TestAppend(t *testing.T) {
	var s Stream
	var shown []byte
	for _, piece := range []string{"\bab", "\b\x1b", "é\b\b€\b", "c\b", "", "d"} {
		shown = s.Append(shown, piece)
	}
	if string(shown) != "ad" {
		t.Errorf("got %q, want %q", shown, "ad")
	}
}
