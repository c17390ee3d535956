package permission

import (
	"regexp"
	"slices"
	"strings"
)

// sed and awk are used every day, mostly with scripts that start nothing. These are
// told from others by reading them; what is not understood may start something.

// maxScript is how long a script may be that is read, in bytes. A longer one may start
// something.
const maxScript = 8 << 10

// sedFlags are the long options of sed that say nothing of the script.
var sedFlags = []string{
	"--quiet", "--silent", "--debug", "--in-place", "--line-length", "--null-data", "--posix", "--regexp-extended",
	"--separate", "--unbuffered", "--zero-terminated", "--follow-symlinks", "--binary", "--version", "--help",
}

// unseenSed reports whether sed may run or write something, by e, w or a script in
// a file.
func unseenSed(args []string, _ bool) bool {
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
	return slices.ContainsFunc(scripts, dynamic) || !plainSed(strings.Join(scripts, "\n"))
}

var (
	sedAddress = compiled(`^[ \t]*([0-9]+|\$)?([~+][0-9]+)?[ \t]*`)
	sedLabel   = compiled(`^[ \t]*[A-Za-z0-9_]*[ \t]*(;|\n|\}|$)`)
	sedText    = compiled(`^([^\\\n]|\\(?s:.))*(\n|$)`)
	sedNumber  = compiled(`^[ \t]*[0-9]*`)
	sedChanges = compiled(`^[0-9gpiImM]*[ \t]*(;|\n|\}|#|$)`)
)

// plainSed reports whether a script of sed only changes text and prints it.
func plainSed(s string) bool {
	if len(s) > maxScript {
		return false
	}
	take := func(re *regexp.Regexp) bool {
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
		if !sedAddresses(&s) || s == "" {
			return false
		}
		c := s[0]
		s = s[1:]
		ok := true
		switch {
		case strings.IndexByte("{}=dDgGhHnNpPxzF", c) >= 0:
		case strings.IndexByte("qQlL", c) >= 0:
			ok = take(sedNumber())
		case strings.IndexByte("btT:", c) >= 0:
			ok = take(sedLabel())
		case strings.IndexByte("aicrR#", c) >= 0:
			ok = take(sedText())
		case c == 's':
			ok = sedParts(&s, 2) && take(sedChanges())
		case c == 'y':
			ok = sedParts(&s, 2)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// sedAddresses takes the addresses of a command off a script.
func sedAddresses(s *string) bool {
	for range 2 {
		*s = strings.TrimLeft(*s, " \t")
		switch {
		case strings.HasPrefix(*s, "/"), strings.HasPrefix(*s, `\`) && len(*s) > 1:
			if (*s)[0] == '\\' {
				*s = (*s)[1:]
			}
			if !sedParts(s, 1) {
				return false
			}
			*s = strings.TrimLeft(*s, "IM")
			*s = strings.TrimLeft(*s, " \t")
		default:
			*s = (*s)[len(sedAddress().FindString(*s)):]
		}
		if !strings.HasPrefix(*s, ",") {
			break
		}
		*s = (*s)[1:]
	}
	*s = strings.TrimLeft(*s, " \t!")
	return true
}

// sedParts takes so many parts off a script, each ended by its first character.
func sedParts(s *string, parts int) bool {
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

// unseenAwk reports whether awk may start something, or is told in a file what to do.
func unseenAwk(args []string, _ bool) bool {
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
			return dynamic(word) || !plainAwk(word)
		}
	}
	return false
}

var (
	awkString  = compiled(`^"([^"\\\n]|\\[^\n])*"`)
	awkRegex   = compiled(`^/([^/\\\n\[]|\\[^\n]|\[\^?\]?([^\]/\\\n"]|\\[^\n])*\])+/`)
	awkKeyword = compiled(`(^|[^A-Za-z0-9_])(return|print|printf|in|case|do|else|getline)[ \t]*$|[)]\s*$|\+\+\s*$|--\s*$`)
)

// plainAwk reports whether a program of awk starts no other: it has no pipe, no
// system and no call by name.
func plainAwk(s string) bool {
	if len(s) > maxScript {
		return false
	}
	last := strings.LastIndexAny(s, `|"`)
	for i := 0; i < len(s); i++ {
		found := ""
		switch s[i] {
		case '"':
			if found = awkString().FindString(s[i:]); found == "" {
				return false
			}
		case '#':
			found, _, _ = strings.Cut(s[i:], "\n")
		case '/':
			before := strings.TrimRight(s[:i], " \t")
			switch {
			case awkKeyword().MatchString(before[max(0, len(before)-20):]):
				if i < last { // is it a division?
					return false
				}
			case before == "" || strings.ContainsAny(before[len(before)-1:], "(,{};!~&|\n=<>?:*%^+-"):
				if found = awkRegex().FindString(s[i:]); found == "" {
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
