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

// A File is a terminal whose reads end after a while.
type File interface {
	io.ReadWriteCloser
	Fd() uintptr

	// ReadWithin reads what arrives within limit, or without a limit if that is negative. It
	// returns 0 without an error if nothing did, and ErrPaused once reading was called off.
	ReadWithin(buf []byte, limit time.Duration) (int, error)
}

// ErrPaused reports that reading was called off: see Input.Pause.
var ErrPaused = errors.New("reading is paused")

// The rest of a sequence may be late: lines are slow, and cut it anywhere. Esc alone is a key and
// also begins every sequence.
const (
	escWait  = 50 * time.Millisecond
	restWait = time.Second
)

// A Reader reads a terminal in whole characters, keys and reports, however they are cut on their
// way. Each read returns either text or one key or report. A key is returned in a form that does
// not begin another one, so that its decoder needs no time limits: esc is "\x1b[27u". Text inside a
// bracketed paste has no escape characters, only pictures of them. Bytes that are no UTF-8 and
// sequences that never end are dropped.
type Reader struct {
	File
	held    []byte // was read and not returned
	key     []byte // the rest of what Next returned
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

// Next returns at most limit bytes of text, or one key or report: as it was sent, and as Read
// returns it.
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

// next takes what is whole from the bytes that were read; it returns nothing if more has to arrive.
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

// special returns the length of the sequence or invalid byte at the beginning of b, and what Read
// returns for it; 0 if more has to arrive.
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

// patience returns how long the rest of what was read may take.
func (r *Reader) patience() time.Duration {
	switch b := r.held; {
	case r.pasting || len(b) == 0 || b[0] != esc:
		return -1
	case len(b) == 1 || string(b) == "\x1b\x1b":
		return escWait
	}
	return restWait
}

// expired returns the keys of a sequence whose rest did not arrive: esc, or alt with the character
// that begins sequences. Longer ones are dropped.
func expired(b []byte) []byte {
	switch {
	case len(b) <= 2:
		return alt(b)
	case len(b) == 3 && b[1] == esc:
		return append(alt(b[:2]), b[2])
	}
	return nil
}

// text returns the length of the text at the beginning of b: at most limit bytes, without a part of
// a character.
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

// A kind says what a sequence is.
type kind int

const (
	partial  kind = iota // more has to arrive
	sequence             // a key or a report
	altKey               // esc, alone or with a character
	broken               // what follows is no part of it
)

// scan returns the length and kind of the sequence at the beginning of b, which is esc. The length
// of a partial one is 0.
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
			return 1, altKey // esc, and then a report
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

// prefixed are the ends of sequences before which esc stands for alt.
const prefixed = " A B C D E F H P Q R S 1~ 2~ 3~ 4~ 5~ 6~ 7~ 8~ 11~ 12~ 13~ 14~ 15~ 17~ 18~ 19~ 20~ 21~ 23~ 24~ "

// run returns the end of the bytes from low to high that begin at b[i].
func run(b []byte, i int, low, high byte) int {
	for i < len(b) && low <= b[i] && b[i] <= high {
		i++
	}
	return i
}

// final returns the length and kind of a sequence whose last byte, b[i], is at least low.
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
	if n == 3 { // the Linux console's function keys, and the mouse as xterm first reported it
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

// maxParams limits the parameters of a sequence: Ultraviolet decodes 16 of a DCS, and 32 of a CSI.
const maxParams = 16

// scanString scans an OSC, DCS or APC sequence. A control character, such as that of enter or
// ctrl+c, ends it too.
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

// contentKind returns sequence for the content of a string that Ultraviolet decodes to its end.
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

// canonical returns a sequence in the form that its decoder knows. Ultraviolet takes the key of the
// base layout for the shifted key if it gets both. A letter is found by its base layout, any other
// character as it is.
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

// Text returns the text of a line, without keys and reports. Bytes that are no UTF-8 become
// U+FFFD.
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
