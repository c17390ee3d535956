// Package mention finds and reads what the text of a prompt mentions with an @: files, resources of MCP servers and web
// addresses.
package mention

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/tools/act"
)

// A Finder finds mentions, and reads what they name. The zero value knows files only.
type Finder struct {
	Servers Servers                                                                         // nil if none runs
	Fetch   func(ctx context.Context, address string) (name string, data []byte, err error) // downloads a file from the web; nil if addresses are text
}

// Servers are the MCP servers, whose resources are mentioned as @server:uri.
type Servers interface {
	Resources() []act.Resource
	ReadResource(ctx context.Context, server, uri string) ([]llm.Part, error)
}

// In reports whether text mentions anything that Expand would attach.
func (f Finder) In(text string) bool {
	return len(attach.Mentions(text, f.isMention)) > 0
}

// Addresses returns the addresses that Expand would fetch for text, in order, and text with the @ before each removed,
// which fetches nothing.
func (f Finder) Addresses(text string) (addresses []string, without string) {
	at := 0
	var b strings.Builder
	for _, m := range attach.Mentions(text, f.isMention) {
		if IsAddress(m.Path) {
			addresses = append(addresses, m.Path)
			b.WriteString(text[at:m.Start] + " ")
			at = m.Start + len("@")
		}
	}
	return addresses, b.String() + text[at:]
}

// Plain returns text with all mentions turned into plain text, and the names they had.
func (f Finder) Plain(text string) (plain string, names []string) {
	for {
		found := attach.Mentions(text, f.isMention)
		if len(found) == 0 {
			return text, names
		}
		for _, m := range slices.Backward(found) {
			text, names = text[:m.Start]+text[m.Start+1:], append(names, m.Path)
		}
	}
}

// Missing returns the first apparent mention in text that names no file; "" if there is none.
func (f Finder) Missing(text string) string {
	found := map[int]bool{}
	for _, is := range attach.Mentions(text, f.isMention) {
		found[is.Start] = true
	}
	for _, may := range attach.Mentions(text, func(string) bool { return true }) {
		name := strings.TrimRightFunc(may.Path, unicode.IsPunct)
		if !found[may.Start] && strings.ContainsFunc(name, unicode.IsLetter) && !Exists(name) {
			return name
		}
	}
	return ""
}

// Expand reads the files and server resources mentioned in text. Notes describe changes made to them.
func (f Finder) Expand(ctx context.Context, text string) (parts []llm.Part, notes []string, err error) {
	return attach.ExpandMentions(text, func(path string) (found []llm.Part, note string, err error) {
		if r, ok := f.resource(path); ok {
			if found, err = f.Servers.ReadResource(ctx, r.Server, r.URI); err != nil {
				err = fmt.Errorf("@%s: %w", path, err)
			}
			return found, "", err
		}
		file, err := attach.Attachment{}, fs.ErrNotExist
		if IsAddress(path) {
			file, err = f.Fetched(ctx, path)
		} else if IsFile(path) {
			file, err = attach.FromFile(ExpandHome(path), attach.DefaultLimits())
		}
		return []llm.Part{file.Part}, file.Note, err
	})
}

// Resources returns the server resources whose name contains word.
func (f Finder) Resources(word string) []act.Resource {
	if f.Servers == nil {
		return nil
	}
	var out []act.Resource
	for _, r := range f.Servers.Resources() {
		if strings.Contains(strings.ToLower(r.Server+":"+r.URI+" "+r.Name), strings.ToLower(word)) {
			out = append(out, r)
		}
	}
	return out
}

// resource returns the resource that a prompt mentions as @server:uri.
func (f Finder) resource(name string) (r act.Resource, ok bool) {
	for _, r := range f.Resources(name) {
		if r.Server+":"+r.URI == name {
			return r, true
		}
	}
	return r, false
}

// isMention reports whether the text after an @ names a file, a resource or an address to attach.
func (f Finder) isMention(text string) bool {
	_, resource := f.resource(text)
	return resource || IsFile(text) || f.Fetch != nil && IsAddress(text)
}

// Fetched downloads a file from the web.
func (f Finder) Fetched(ctx context.Context, address string) (attach.Attachment, error) {
	if f.Fetch == nil {
		return attach.Attachment{}, fs.ErrNotExist
	}
	name, data, err := f.Fetch(ctx, address)
	if err != nil {
		return attach.Attachment{}, err
	}
	return attach.FromBytes(name, data, attach.DefaultLimits())
}

// IsAddress reports whether text is a web address, without punctuation at its end.
func IsAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && !strings.ContainsAny(text[len(text)-1:], ".,;:!?)]}>\"'")
}

// IsFile reports whether path names a file that a mention may attach. Hidden files outside the workspace, such as keys,
// must be attached by name, even if a link leads to them.
func IsFile(path string) bool {
	path = ExpandHome(path)
	if outside := filepath.IsAbs(path) || !filepath.IsLocal(path); outside && strings.Contains(filepath.ToSlash(path), "/.") || linksToHidden(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// linksToHidden reports whether path is, or passes through, a link to a hidden file outside the workspace. Such a link
// may have come with the directory.
func linksToHidden(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == filepath.Clean(path) {
		return false
	}
	workspace, err := os.Getwd()
	if err == nil {
		workspace, err = filepath.EvalSymlinks(workspace)
	}
	if err != nil {
		return false
	}
	if !filepath.IsAbs(real) {
		real = filepath.Join(workspace, real)
	}
	inside, err := filepath.Rel(workspace, real)
	return (err != nil || !filepath.IsLocal(inside)) && strings.Contains(filepath.ToSlash(real), "/.")
}

// Exists reports whether path exists, even if it cannot be attached.
func Exists(path string) bool {
	_, err := os.Stat(ExpandHome(path))
	return err == nil
}

// ExpandHome replaces a leading ~ in path. Relative paths stay as they are, so that the model knows the file by the
// same name.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}
