package attach

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"parley/providers/llm"
)

// Byte order marks.
const (
	bom8    = "\xef\xbb\xbf"
	bom16LE = "\xff\xfe"
	bom16BE = "\xfe\xff"
)

func lineCount(text string) string {
	if n := strings.Count(text, "\n") + 1; n > 1 {
		return fmt.Sprintf("%d lines", n)
	}
	return "1 line"
}

// textItem attaches a text in tags with the file's name.
func textItem(path string, data []byte) (Attachment, error) {
	text, from, ok := decodeText(data)
	if !ok {
		return Attachment{}, refusal(path, unknownFormat(data), data)
	}
	if text == "" {
		return Attachment{}, fmt.Errorf("%s is empty but for its byte order mark: there is nothing to attach", printable(path))
	}
	body := strings.TrimSuffix(text, "\n")
	it := Attachment{
		Part:  llm.Part{Kind: llm.Text, Name: filepath.Base(path), Text: fmt.Sprintf("<file path=%q>\n%s\n</file>", path, body)},
		Label: label(filepath.Base(path), lineCount(body), len(data)),
	}
	if from != "" {
		it.Note = "converted from " + from + " to UTF-8"
	}
	return it, nil
}

// DecodeText returns a text as UTF-8, and its original encoding if that was
// another; ok is false if data is not text.
func DecodeText(data []byte) (text, from string, ok bool) {
	if sniff(data) != nil {
		return "", "", false
	}
	return decodeText(data)
}

// decodeText returns data as UTF-8, and its original encoding if that was another.
func decodeText(data []byte) (text, from string, ok bool) {
	little, big := bytes.HasPrefix(data, []byte(bom16LE)), bytes.HasPrefix(data, []byte(bom16BE))
	switch {
	case little, !big && unmarked16(data, 1):
		text, ok = decodeUTF16(data, binary.LittleEndian)
		from = "UTF-16"
	case big, unmarked16(data, 0):
		text, ok = decodeUTF16(data, binary.BigEndian)
		from = "UTF-16"
	case utf8.Valid(data):
		text, ok = strings.TrimPrefix(string(data), bom8), true
	default:
		if text, ok = repairUTF8(data); ok {
			from = "invalid UTF-8"
			break
		}
		text, ok = decodeWindows(data)
		from = "Windows-1252"
	}
	return text, from, ok && !strings.Contains(text, "\x00")
}

// repairUTF8 returns text in which invalid bytes are replaced by U+FFFD: a text truncated within a
// character, as by head -c, or damaged by another program. It returns false if multibyte
// characters, which are rare in random data, are not more common than invalid bytes.
func repairUTF8(data []byte) (string, bool) {
	whole, broken, inBroken := 0, 0, false
	for rest := data; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		invalid := r == utf8.RuneError && n == 1
		switch {
		case n > 1:
			whole++
		case invalid && !inBroken:
			broken++
		}
		inBroken, rest = invalid, rest[n:]
	}
	return strings.ToValidUTF8(string(data), "\uFFFD"), whole > 0 && whole >= broken
}

// unmarked16 reports whether data is UTF-16 without a byte order mark, for mostly
// ASCII text: with few exceptions, the byte at offset high of each pair is zero,
// and the other byte never is.
func unmarked16(data []byte, high int) bool {
	if len(data) < 4 || len(data)%2 != 0 {
		return false
	}
	zeros := 0
	for i := 0; i < len(data); i += 2 {
		if data[i+1-high] == 0 {
			return false
		}
		if data[i+high] == 0 {
			zeros++
		}
	}
	return 10*zeros >= 9*(len(data)/2)
}

// decodeUTF16 replaces unpaired surrogates by U+FFFD, and removes a byte order mark. An odd number
// of bytes is not UTF-16.
func decodeUTF16(data []byte, order binary.ByteOrder) (string, bool) {
	if len(data)%2 != 0 {
		return "", false
	}
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), bom8), true
}

// windows holds the characters of Windows-1252 from 0x80 to 0x9f; the others are
// those of Latin-1. Zero marks unassigned bytes.
var windows = [32]rune{
	'€', 0, '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', 0, 'Ž', 0,
	0, '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', 0, 'ž', 'Ÿ',
}

// decodeWindows decodes data as Windows-1252, a superset of Latin-1, if that is
// plausible: no control characters, and mostly ASCII. In texts of other scripts
// or encodings most bytes are not ASCII.
func decodeWindows(data []byte) (string, bool) {
	var text strings.Builder
	high := 0
	for _, c := range data {
		r := rune(c)
		if c >= 0x80 {
			high++
			if c < 0xa0 {
				r = windows[c-0x80]
			}
		}
		if r == 0 || r < ' ' && !strings.ContainsRune("\t\n\v\f\r\x1b", r) {
			return "", false
		}
		text.WriteRune(r)
	}
	return text.String(), 3*high <= len(data)
}

// looksText reports whether head is the beginning of a text; more reports that
// data follows, so that a character may be incomplete at the end of head.
func looksText(head []byte, more bool) bool {
	if more && !bytes.HasPrefix(head, []byte(bom16LE)) && !bytes.HasPrefix(head, []byte(bom16BE)) {
		for range utf8.UTFMax - 1 {
			if r, size := utf8.DecodeLastRune(head); r != utf8.RuneError || size != 1 {
				break
			}
			head = head[:len(head)-1]
		}
	}
	_, _, ok := decodeText(head)
	return ok
}
