package permission

import (
	"slices"
	"strings"

	"parley/tools/lazy"
)

// sed and awk are used every day, mostly with scripts that run nothing. Parsing
// recognizes these; a script that cannot be parsed counts as opaque.

// maxScriptBytes is the longest script that is parsed; a longer one is opaque.
const maxScriptBytes = 8 << 10

// sedFlags holds the long options of sed that do not change the script.
var sedFlags = []string{
	"--quiet", "--silent", "--debug", "--in-place", "--line-length", "--null-data", "--posix", "--regexp-extended",
	"--separate", "--unbuffered", "--zero-terminated", "--follow-symlinks", "--binary", "--version", "--help",
}

// isOpaqueSed reports whether sed may run or write something, through e, w or a script file.
func isOpaqueSed(args []string, _ bool) bool {
	var scripts, operands []string
	inPlace := false
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, value, given := strings.Cut(word, "=")
		switch {
		case word == "--sandbox":
			return false
		case name == "--expression" && given:
			scripts = append(scripts, value)
		case strings.HasPrefix(word, "--") && word != "--":
			if !slices.Contains(sedFlags, name) {
				return true
			}
		case strings.HasPrefix(word, "-") && len(word) > 1 && word != "--":
			at := strings.IndexFunc(word[1:], func(c rune) bool { return !strings.ContainsRune("nrEsuzb", c) }) + 1
			switch {
			case at == 0:
			case word[at] == 'i':
				inPlace = true
			case word[at] == 'e' && at+1 < len(word):
				scripts = append(scripts, word[at+1:])
			case word[at] == 'e' && i+1 < len(args):
				i++
				scripts = append(scripts, args[i])
			default:
				return true
			}
		case word != "--":
			operands = append(operands, word)
		}
	}
	if inPlace && len(operands) > 0 && operands[0] == "" { // BSD's suffix
		operands = operands[1:]
	}
	if len(scripts) == 0 && len(operands) > 0 {
		scripts = operands[:1]
	}
	return slices.ContainsFunc(scripts, isDynamic) || !isPlainSed(strings.Join(scripts, "\n"))
}

var (
	sedAddress         = lazy.NewRegexp(`^[ \t]*([0-9]+|\$)?([~+][0-9]+)?[ \t]*`)
	sedLabel           = lazy.NewRegexp(`^[ \t]*[A-Za-z0-9_]*[ \t]*(;|\n|\}|$)`)
	sedText            = lazy.NewRegexp(`^([^\\\n]|\\(?s:.))*(\n|$)`)
	sedNumber          = lazy.NewRegexp(`^[ \t]*[0-9]*`)
	sedSubstituteFlags = lazy.NewRegexp(`^[0-9gpiImM]*[ \t]*(;|\n|\}|#|$)`)
)

// isPlainSed reports whether a script of sed only changes and prints text.
func isPlainSed(s string) bool {
	if len(s) > maxScriptBytes {
		return false
	}
	take := func(re *lazy.Regexp) bool {
		found := re.FindStringIndex(s)
		if found != nil {
			s = s[found[1]:]
		}
		return found != nil
	}
	for s != "" {
		if s = strings.TrimLeft(s, " \t\n;}"); s == "" {
			break
		}
		if !cutSedAddresses(&s) || s == "" {
			return false
		}
		c := s[0]
		s = s[1:]
		ok := true
		switch {
		case strings.IndexByte("{}=dDgGhHnNpPxzF", c) >= 0:
		case strings.IndexByte("qQlL", c) >= 0:
			ok = take(sedNumber)
		case strings.IndexByte("btT:", c) >= 0:
			ok = take(sedLabel)
		case strings.IndexByte("aicrR#", c) >= 0:
			ok = take(sedText)
		case c == 's':
			ok = cutSedParts(&s, 2) && take(sedSubstituteFlags)
		case c == 'y':
			ok = cutSedParts(&s, 2)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// cutSedAddresses cuts the addresses of a command off a script.
func cutSedAddresses(s *string) bool {
	for range 2 {
		*s = strings.TrimLeft(*s, " \t")
		switch {
		case strings.HasPrefix(*s, "/"), strings.HasPrefix(*s, `\`) && len(*s) > 1:
			if (*s)[0] == '\\' {
				*s = (*s)[1:]
			}
			if !cutSedParts(s, 1) {
				return false
			}
			*s = strings.TrimLeft(*s, "IM")
			*s = strings.TrimLeft(*s, " \t")
		default:
			*s = (*s)[len(sedAddress.FindString(*s)):]
		}
		if !strings.HasPrefix(*s, ",") {
			break
		}
		*s = (*s)[1:]
	}
	*s = strings.TrimLeft(*s, " \t!")
	return true
}

// cutSedParts cuts parts off a script, each ended by the script's first character.
func cutSedParts(s *string, parts int) bool {
	if len(*s) == 0 || strings.IndexByte("\\\n", (*s)[0]) >= 0 || (*s)[0] >= 0x80 {
		return false
	}
	mark := (*s)[0]
	for i := 1; i < len(*s); i++ {
		switch (*s)[i] {
		case '\\':
			i++
		case mark:
			if parts--; parts == 0 {
				*s = (*s)[i+1:]
				return true
			}
		}
	}
	return false
}

// isOpaqueAwk reports whether awk may run something, or reads its program from a file.
func isOpaqueAwk(args []string, _ bool) bool {
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "-F", word == "-v":
			i++
		case word == "--version":
			return false
		case word == "--", word == "--posix", word == "--traditional", word == "--re-interval", strings.HasPrefix(word, "--field-separator="), strings.HasPrefix(word, "--assign="):
		case strings.HasPrefix(word, "-F"), strings.HasPrefix(word, "-v"):
		case strings.HasPrefix(word, "-"):
			return true
		default:
			return isDynamic(word) || !isPlainAwk(word)
		}
	}
	return false
}

var (
	awkString  = lazy.NewRegexp(`^"([^"\\\n]|\\[^\n])*"`)
	awkRegex   = lazy.NewRegexp(`^/([^/\\\n\[]|\\[^\n]|\[\^?\]?([^\]/\\\n"]|\\[^\n])*\])+/`)
	awkKeyword = lazy.NewRegexp(`(^|[^A-Za-z0-9_])(return|print|printf|in|case|do|else|getline)[ \t]*$|[)]\s*$|\+\+\s*$|--\s*$`)
)

// isPlainAwk reports whether an awk program runs no other: it has no pipe, no system and
// no indirect call.
func isPlainAwk(s string) bool {
	if len(s) > maxScriptBytes {
		return false
	}
	last := strings.LastIndexAny(s, `|"`)
	for i := 0; i < len(s); i++ {
		found := ""
		switch s[i] {
		case '"':
			if found = awkString.FindString(s[i:]); found == "" {
				return false
			}
		case '#':
			found, _, _ = strings.Cut(s[i:], "\n")
		case '/':
			before := strings.TrimRight(s[:i], " \t")
			switch {
			case awkKeyword.MatchString(before[max(0, len(before)-20):]):
				if i < last { // is it a division?
					return false
				}
			case before == "" || strings.ContainsAny(before[len(before)-1:], "(,{};!~&|\n=<>?:*%^+-"):
				if found = awkRegex.FindString(s[i:]); found == "" {
					return false
				}
			}
		case '|':
			if !strings.HasPrefix(s[i:], "||") {
				return false
			}
			found = "||"
		case '@', '`':
			return false
		case '\\':
			if !strings.HasPrefix(s[i:], "\\\n") {
				return false
			}
			found = "\\\n"
		case 's':
			if strings.HasPrefix(s[i:], "system") {
				return false
			}
		}
		i += max(0, len(found)-1)
	}
	return true
}
