package tty

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A File is a terminal whose reads have time limits.
type File interface {
	io.ReadWriteCloser
	Fd() uintptr

	// ReadWithin reads input that arrives within limit; a negative limit means none. It
	// returns 0 and no error if nothing arrived, and ErrPaused if reading was interrupted.
	ReadWithin(buf []byte, limit time.Duration) (int, error)
}

// ErrPaused reports that reading was interrupted; see Input.Pause.
var ErrPaused = errors.New("reading is paused")

// The rest of a sequence may be late, because slow lines split it anywhere. Esc is a key by
// itself and also begins every sequence.
const (
	escWait  = 50 * time.Millisecond
	restWait = time.Second
)

// A Reader reads a terminal in whole characters, keys and reports, however they were split in
// transit. Each read returns either text or one key or report. A key is returned in a form that is
// not the beginning of another one, so that its decoder needs no time limits: esc is "\x1b[27u". In
// text inside a bracketed paste, escape characters are replaced by visible symbols. Invalid UTF-8
// and sequences that never end are dropped.
type Reader struct {
	File
	held    []byte // read but not yet returned
	key     []byte // the rest of the last result of Next
	pasting bool
}

const (
	esc        = '\x1b'
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// NewReader returns a Reader of f.
func NewReader(f File) *Reader { return &Reader{File: f} }

// Read implements io.Reader. It returns io.EOF while reading is paused.
func (r *Reader) Read(p []byte) (int, error) {
	if len(r.key) == 0 {
		_, key, err := r.Next(len(p))
		if errors.Is(err, ErrPaused) {
			err = io.EOF
		}
		if err != nil {
			return 0, err
		}
		r.key = key
	}
	n := copy(p, r.key)
	r.key = r.key[n:]
	return n, nil
}

// Next returns at most limit bytes of text, or one key or report: in the form sent by the
// terminal, and in the form returned by Read.
func (r *Reader) Next(limit int) (sent, key []byte, err error) {
	for {
		if sent, key = r.next(max(limit, utf8.UTFMax)); len(key) > 0 {
			return sent, key, nil
		}
		wait, buf := r.patience(), make([]byte, 4096)
		n, err := r.ReadWithin(buf, wait)
		switch {
		case n > 0:
			r.held = append(r.held, buf[:n]...)
		case err != nil:
			return nil, nil, err
		case wait >= 0:
			sent, r.held = r.held, nil
			if key = expired(sent); len(key) > 0 {
				return sent, key, nil
			}
		}
	}
}

// next takes a complete unit from the bytes read. It returns nothing if more must arrive.
func (r *Reader) next(limit int) (sent, key []byte) {
	for len(r.held) > 0 {
		b := r.held
		n := text(b, limit)
		if n > 0 {
			key = b[:n]
		} else {
			n, key = r.special(b)
		}
		if n == 0 {
			break
		}
		r.held = b[n:]
		if len(key) > 0 {
			return b[:n], key
		}
	}
	return nil, nil
}

// special returns the length of the sequence or invalid byte at the start of b, and the form that
// Read returns for it; 0 if more must arrive.
func (r *Reader) special(b []byte) (n int, key []byte) {
	switch {
	case b[0] != esc:
		if utf8.FullRune(b) {
			_, n = utf8.DecodeRune(b)
		}
		return n, nil
	case r.pasting && bytes.HasPrefix(b, []byte(pasteEnd)):
		r.pasting = false
		return len(pasteEnd), []byte(pasteEnd)
	case r.pasting && strings.HasPrefix(pasteEnd, string(b)):
		return 0, nil
	case r.pasting:
		return 1, []byte("␛")
	}
	n, kind := scan(b)
	switch kind {
	case altKey:
		return n, alt(b[:n])
	case sequence:
		r.pasting = string(b[:n]) == pasteStart
		return n, canonical(b[:n])
	}
	return n, nil
}

// patience returns how long to wait for the rest of the bytes read.
func (r *Reader) patience() time.Duration {
	switch b := r.held; {
	case r.pasting || len(b) == 0 || b[0] != esc:
		return -1
	case len(b) == 1 || string(b) == "\x1b\x1b":
		return escWait
	}
	return restWait
}

// expired returns the keys for an incomplete sequence: esc, or alt with the character that begins
// sequences. Longer ones are dropped.
func expired(b []byte) []byte {
	switch {
	case len(b) <= 2:
		return alt(b)
	case len(b) == 3 && b[1] == esc:
		return append(alt(b[:2]), b[2])
	}
	return nil
}

// text returns the length of the text at the start of b: at most limit bytes, in whole characters.
func text(b []byte, limit int) (n int) {
	for n < len(b) && b[n] != esc {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError || n+size > limit {
			break
		}
		n += size
	}
	return n
}

// A kind is the kind of a sequence.
type kind int

const (
	partial  kind = iota // more must arrive
	sequence             // a key or a report
	altKey               // esc, alone or with a character
	broken               // the bytes after it are not part of it
)

// scan returns the length and kind of the sequence at the start of b, which begins with esc. The
// length of a partial sequence is 0.
func scan(b []byte) (n int, k kind) {
	if len(b) == 1 {
		return 0, partial
	}
	switch b[1] {
	case '[':
		return scanCSI(b)
	case 'O':
		return final(b, run(b, 2, '0', '9'), '!')
	case ']', 'P', '_':
		return scanString(b)
	case esc: // alt with a key that is itself a sequence
		if len(b) == 2 {
			return 0, partial
		}
		n, k = scan(b[1:])
		switch {
		case k == partial:
			return 0, k
		case k == altKey || b[2] != '[' && b[2] != 'O':
			return 2, altKey
		case k == sequence && !strings.Contains(prefixed, " "+string(b[3:n+1])+" "):
			return 1, altKey // esc, followed by a report
		}
		return n + 1, k
	}
	if !utf8.FullRune(b[1:]) {
		return 0, partial
	}
	r, size := utf8.DecodeRune(b[1:])
	if r == utf8.RuneError {
		size = 0
	}
	return 1 + size, altKey
}

// prefixed lists the ends of sequences before which esc means alt.
const prefixed = " A B C D E F H P Q R S 1~ 2~ 3~ 4~ 5~ 6~ 7~ 8~ 11~ 12~ 13~ 14~ 15~ 17~ 18~ 19~ 20~ 21~ 23~ 24~ "

// run returns the end of the bytes between low and high that begin at b[i].
func run(b []byte, i int, low, high byte) int {
	for i < len(b) && low <= b[i] && b[i] <= high {
		i++
	}
	return i
}

// final returns the length and kind of a sequence whose last byte, b[i], must be at least low.
func final(b []byte, i int, low byte) (int, kind) {
	switch {
	case i >= len(b):
		return 0, partial
	case low <= b[i] && b[i] <= '~':
		return i + 1, sequence
	case i == 2:
		return 2, altKey
	}
	return i, broken
}

func scanCSI(b []byte) (int, kind) {
	i := run(b, 2, '0', '?')
	if i > 2 && i < len(b) && b[i] == '$' && run(b, 2, '0', '9') == i { // rxvt's keys with shift
		return i + 1, sequence
	}
	n, k := final(b, run(b, i, ' ', '/'), '@')
	if n == 3 { // function keys of the Linux console, and the original mouse reports of xterm
		n += map[byte]int{'[': 1, 'M': 3}[b[2]]
	}
	switch {
	case n > len(b):
		return 0, partial
	case k == sequence && bytes.Count(b[:i], []byte(";"))+bytes.Count(b[:i], []byte(":")) >= maxParams:
		return n, broken
	case n == 4 && b[2] == '[' && (b[3] < 'A' || b[3] > 'E'):
		return 3, broken
	}
	return n, k
}

// maxParams is the maximum number of parameters of a sequence: Ultraviolet decodes 16 of a DCS, and
// 32 of a CSI.
const maxParams = 16

// scanString scans an OSC, DCS or APC sequence. A control character, such as enter or ctrl+c,
// also ends it.
func scanString(b []byte) (int, kind) {
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c == '\a' && b[1] == ']':
			return i + 1, contentKind(b[1], b[2:i])
		case c == esc && i+1 == len(b):
			return 0, partial
		case c == esc && b[i+1] == '\\':
			return i + 2, contentKind(b[1], b[2:i])
		case c < ' ' && i == 2:
			return 2, altKey
		case c < ' ':
			return i, broken
		}
	}
	return 0, partial
}

// contentKind returns sequence if Ultraviolet decodes a string with this content completely.
func contentKind(intro byte, content []byte) kind {
	ok := run(content, 0, ' ', '~') == len(content)
	switch intro {
	case ']':
		number := run(content, 0, '0', '9')
		ok = ok && number+1 < len(content) && content[number] == ';'
	case 'P':
		params := run(content, 0, '0', '?')
		final := run(content, params, ' ', '/')
		ok = ok && params <= maxParams && final < len(content) && content[final] >= '@'
	}
	if !ok {
		return broken
	}
	return sequence
}

// alt returns the key of esc and the character after it, in kitty's form.
func alt(b []byte) []byte {
	if len(b) == 1 {
		return []byte("\x1b[27u")
	}
	const altMod, shift, ctrl = 3, 1, 4
	c, mod := rune(b[1]), altMod
	switch {
	case c >= utf8.RuneSelf:
		return b
	case c == '\t', c == '\r', c == esc:
	case c == 0:
		c, mod = ' ', altMod+ctrl
	case c <= 0x1a:
		c, mod = c+0x60, altMod+ctrl
	case c < ' ':
		c, mod = c+0x40, altMod+ctrl
	case unicode.IsUpper(c):
		c, mod = unicode.ToLower(c), altMod+shift
	}
	return fmt.Appendf(nil, "\x1b[%d;%du", c, mod)
}

// canonical returns a sequence in a form that its decoder knows. Ultraviolet confuses the
// base-layout key with the shifted key if it gets both. So canonical keeps only the base-layout key
// for a letter, and only the shifted key for any other character.
func canonical(seq []byte) []byte {
	if digits, ok := bytes.CutSuffix(seq, []byte("$")); ok {
		return append(bytes.Clone(digits), ";2~"...)
	}
	if console, ok := bytes.CutPrefix(seq, []byte("\x1b[[")); ok {
		return fmt.Appendf(nil, "\x1b[1%c~", console[0]-'A'+'1')
	}
	codes, rest, _ := strings.Cut(string(seq), ";")
	code := strings.Split(codes, ":")
	if len(code) != 3 || code[1] == "" || !strings.HasSuffix(rest, "u") {
		return seq
	}
	shifted, _ := strconv.Atoi(code[1])
	if mods := strings.TrimRight(rest, "u"); unicode.IsLetter(rune(shifted)) && mods != "2" {
		code[1] = ""
	} else {
		code = code[:2]
	}
	return []byte(strings.Join(code, ":") + ";" + rest)
}

// Text returns the text of a line, without keys and reports. Invalid UTF-8 becomes U+FFFD.
func Text(line []byte) string {
	var b strings.Builder
	for len(line) > 0 {
		n := text(line, len(line))
		b.Write(line[:n])
		switch {
		case n > 0:
		case line[0] != esc:
			b.WriteRune(utf8.RuneError)
			_, n = utf8.DecodeRune(line)
		default:
			var k kind
			if n, k = scan(line); k == altKey || len(line) <= 2 {
				n = 1 // the rest is text
			} else if k == partial {
				n = len(line)
			}
		}
		line = line[n:]
	}
	return b.String()
}
