package tools

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"parley/tools/sanitize"

	"golang.org/x/net/idna"
)

// maxURL is the longest address in bytes: enough for the web, too short to
// carry away the content of a file.
const maxURL = 2000

// parseURL parses an address from a model or a server and returns it as sent
// and shown: ASCII only, without a fragment. Parsers disagree about unusual
// addresses; all of them read the result the same way.
func parseURL(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	switch {
	case raw == "":
		return nil, refuse("the URL is empty")
	case len(raw) > maxURL:
		return nil, refuse("the URL is longer than %d bytes", maxURL)
	case strings.ContainsFunc(raw, func(r rune) bool { return r < '!' || r == '\\' || r == 0x7F || r == 0xFFFD || sanitize.IsHidden(r) }):
		return nil, refuse("the URL %s contains a space, a backslash or an invisible character; encode it as %%20 and the like", quoteName(raw))
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, refuse("%s is not a valid URL", quoteName(raw))
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, refuse("%s: only http and https are fetched", quoteName(raw))
	case u.User != nil:
		return nil, refuse("%s: a user name or password in a URL is not sent", quoteName(raw))
	case u.Opaque != "" || u.Hostname() == "":
		return nil, refuse("%s names no host", quoteName(raw))
	}
	host, err := normalizeHost(u.Hostname())
	if err != nil {
		return nil, refuse("%s: %v", quoteName(raw), err)
	}
	if u.Host, err = hostWithPort(host, u); err != nil {
		return nil, refuse("%s: %v", quoteName(raw), err)
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = escapeQuery(u.RawQuery)
	if u.RawPath = u.EscapedPath(); u.RawPath == "" {
		u.Path, u.RawPath = "/", "/"
	}
	return u, nil
}

// normalizeHost returns the canonical form of a name or a public address.
func normalizeHost(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if why := sanitize.NonPublic(addr); why != "" {
			return "", &blockedError{addr.String(), why}
		}
		return addr.String(), nil
	}
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(host, "."))
	if err != nil || ascii == "" || len(ascii) > 253 {
		return "", fmt.Errorf("%s is not a valid host name", quoteName(host))
	}
	ascii = strings.ToLower(ascii)
	for _, label := range strings.Split(ascii, ".") {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("%s is not a valid host name", quoteName(host))
		}
	}
	last := ascii[strings.LastIndexByte(ascii, '.')+1:]
	switch {
	case last == "localhost":
		return "", &blockedError{ascii, "this computer"}
	case isNumericLabel(last):
		// Some resolvers accept 127.1, 0x7f000001 and 2130706433 as addresses.
		return "", fmt.Errorf("%s is neither a name nor an address in the usual form", quoteName(host))
	}
	return ascii, nil
}

// isNumericLabel reports whether browsers treat a host that ends with this label as
// an address.
func isNumericLabel(label string) bool {
	digits, hex := strings.CutPrefix(label, "0x")
	if !hex {
		return strings.Trim(label, "0123456789") == ""
	}
	return strings.Trim(digits, "0123456789abcdef") == ""
}

// hostWithPort returns host with the port of u unless it is the default port.
func hostWithPort(host string, u *url.URL) (string, error) {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port == "" {
		return host, nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return "", fmt.Errorf("the port %s is not one", quoteName(port))
	}
	if u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443 {
		return host, nil
	}
	return host + ":" + strconv.FormatUint(n, 10), nil
}

// escapeQuery escapes every byte of a query that is not ASCII or could be displayed
// misleadingly.
func escapeQuery(query string) string {
	var out strings.Builder
	for i := range len(query) {
		if b := query[i]; b > ' ' && b < 0x7F && b != '"' && b != '<' && b != '>' {
			out.WriteByte(b)
			continue
		}
		fmt.Fprintf(&out, "%%%02X", query[i])
	}
	return out.String()
}

// A blockedError says that fetch must not reach an address.
type blockedError struct{ host, why string }

func (e *blockedError) Error() string {
	return fmt.Sprintf("%s is blocked: it is %s, and fetch reaches only public addresses", e.host, e.why)
}

// checkDial checks the "ip:port" of a connection right before it is made.
func checkDial(at string, allow func(netip.AddrPort) bool) error {
	ap, err := netip.ParseAddrPort(at)
	if err != nil {
		return &blockedError{at, "no address"}
	}
	if allow != nil && allow(ap) {
		return nil
	}
	if why := sanitize.NonPublic(ap.Addr()); why != "" {
		return &blockedError{net.JoinHostPort(ap.Addr().String(), strconv.Itoa(int(ap.Port()))), why}
	}
	return nil
}
