package schema

import (
	"encoding/json"
	"strconv"
	"strings"
)

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// bareWord reads a value without quotes and writes it as JSON. At the end of the text, the value
// may be a truncated literal. It returns false for prose, code and empty text.
func (m *repairer) bareWord() bool {
	start := m.pos
	for m.pos < len(m.in) && strings.IndexByte(",:{}[]\"\n\r", m.in[m.pos]) < 0 {
		if m.hasPrefix("//") || m.hasPrefix("/*") || m.hasPrefix(" #") {
			break
		}
		m.pos++
	}
	text := strings.TrimSpace(string(m.in[start:m.pos]))
	if text == "" {
		return false
	}
	m.truncated = m.truncated || m.pos == len(m.in)
	word, ok := parseLiteral(text)
	if !ok && m.pos == len(m.in) {
		word, ok = completeLiteral(text)
		if ok && word == "" {
			return false
		}
	}
	if !ok && (m.objectDepth == 0 || strings.ContainsAny(text, "()=;<>")) { // prose or code
		return false
	}
	if !ok {
		write(&m.out, text)
		return true
	}
	m.out.WriteString(word)
	return true
}

// parseLiteral returns a number or a word such as Python's None as JSON; false if text, which must
// not be empty, is neither.
func parseLiteral(text string) (string, bool) {
	switch text {
	case "true", "True", "TRUE":
		return "true", true
	case "false", "False", "FALSE":
		return "false", true
	case "null", "None", "NULL", "nil", "undefined", "NaN", "Infinity", "-Infinity":
		return "null", true
	}
	if c := text[0]; !(c == '-' || c == '+' || c == '.' || c >= '0' && c <= '9') {
		return "", false
	}
	if json.Valid([]byte(text)) {
		return text, true
	}
	if strings.ContainsAny(text, "_pP") { // notations that only ParseInt accepts
		return "", false
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && strings.ContainsAny(text, "xX") {
		return strconv.FormatInt(n, 10), true
	}
	sign, digits := "", text
	switch text[0] {
	case '-':
		sign, digits = "-", text[1:]
	case '+':
		digits = text[1:]
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" || digits[0] < '0' || digits[0] > '9' {
		digits = "0" + digits
	}
	whole, fraction, dotted := strings.Cut(digits, ".")
	if dotted && (fraction == "" || fraction[0] == 'e' || fraction[0] == 'E') {
		digits = whole + ".0" + fraction
	}
	if len(text) > 1 && json.Valid([]byte(sign+digits)) {
		return sign + digits, true
	}
	return "", false
}

// completeLiteral completes a truncated literal, such as "tru" or "1e". It returns "" and true for
// one without a value yet, such as "-".
func completeLiteral(text string) (string, bool) {
	for _, word := range []string{"true", "false", "null", "True", "False", "None"} {
		if strings.HasPrefix(word, text) {
			return parseLiteral(word)
		}
	}
	number := strings.TrimRight(text, "+-.eE")
	if number == "" {
		return "", strings.Trim(text, "+-.") == ""
	}
	return parseLiteral(number)
}
