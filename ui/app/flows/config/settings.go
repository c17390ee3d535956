package config

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"parley/docs"
	"parley/tools/sanitize"
)

// anyName stands for a name that the user chooses, such as that of a provider.
const anyName = "NAME"

// A setting is a key of config.toml.
type setting struct {
	path  []string     // with anyName for each name that the user chooses
	typ   reflect.Type // of its value, without pointers
	group string       // heading in the manual
	help  string       // first sentence of the manual about it
}

func (s *setting) name() string { return strings.Join(s.path, ".") }

// known lists the settings of a configuration as the manual groups them. A list of tables is one setting.
func known(cfg any) []setting {
	all := settingsOf(reflect.TypeOf(cfg), nil)
	described := readManual()
	for i := range all {
		describe(&all[i], described)
	}
	order := map[string]int{}
	for _, d := range described {
		if _, met := order[d.group]; !met {
			order[d.group] = len(order)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return order[all[i].group] < order[all[j].group] })
	return all
}

func settingsOf(t reflect.Type, path []string) (all []setting) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Map {
		return settingsOf(t.Elem(), append(slices.Clip(path), anyName))
	}
	if t.Kind() == reflect.Struct {
		for _, f := range reflect.VisibleFields(t) {
			if tag := f.Tag.Get("toml"); tag != "" && tag != "-" {
				all = append(all, settingsOf(f.Type, append(slices.Clip(path), tag))...)
			}
		}
	}
	if all == nil {
		all = []setting{{path: path, typ: t}}
	}
	return all
}

// matches reports whether path is that of a setting, with the user's names in it.
func matches(pattern, path []string) bool {
	return slices.EqualFunc(pattern, path, func(p, name string) bool { return p == name || p == anyName })
}

// readManual returns the settings that the manual shows, in its order.
func readManual() (all []setting) {
	page, _ := docs.Open("configuration")
	_, text, _ := strings.Cut(page.Text, "\n### ")
	for part := range strings.SplitSeq(text, "\n### ") {
		heading, text, _ := strings.Cut(part, "\n")
		_, text, _ = strings.Cut(text, "```toml\n")
		text, _, _ = strings.Cut(text, "```")
		last := ""
		for _, s := range statements(text) {
			if help := commentBefore(text[:s.start]); help != "" || s.header {
				last = help
			}
			all = append(all, setting{path: s.path, group: strings.TrimSpace(heading), help: last})
		}
	}
	return all
}

// commentBefore returns the first sentence of the comment at the end of text.
func commentBefore(text string) string {
	var words []string
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for _, line := range slices.Backward(lines) {
		rest, ok := strings.CutPrefix(line, "# ")
		if !ok {
			break
		}
		words = append([]string{rest}, words...)
	}
	help := strings.Join(words, " ")
	if first, _, more := strings.Cut(help, ". "); more {
		return first + "."
	}
	return help
}

// describe sets group and help of a setting: those of the same key, else of the same word in the same table, else of
// the table.
func describe(s *setting, manual []setting) {
	last := len(s.path) - 1
	for _, fits := range []func(d []string) bool{
		func(d []string) bool { return matches(s.path, d) },
		func(d []string) bool { return d[0] == s.path[0] && d[len(d)-1] == s.path[last] },
		func(d []string) bool { return d[0] == s.path[0] },
	} {
		if i := slices.IndexFunc(manual, func(d setting) bool { return d.help != "" && fits(d.path) }); i >= 0 {
			s.group, s.help = manual[i].group, manual[i].help
			return
		}
	}
}

// kindText says what a value may be.
func kindText(t reflect.Type, words []string) string {
	switch {
	case len(words) > 0:
		return strings.Join(words, " · ")
	case t == reflect.TypeFor[time.Duration]():
		return "a time such as 90s"
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true · false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "text"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "tables, in the file"
		}
		return "a list, with commas"
	}
	return "text or TOML"
}

// valueText returns a value from a file or a default for people. Secret values are hidden.
func valueText(path []string, v any) string {
	if v == nil {
		return ""
	}
	text := ""
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.String:
		text = r.String()
	case reflect.Slice:
		var words []string
		for i := range r.Len() {
			words = append(words, fmt.Sprint(r.Index(i)))
		}
		text = strings.Join(words, ", ")
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Float64:
		text = fmt.Sprint(v)
	case reflect.Map:
		b, _ := toml.Marshal(v)
		text = strings.ReplaceAll(strings.TrimSpace(string(b)), "\n", ", ")
	}
	if text == "" {
		return ""
	}
	if isSecret(path) || sanitize.LooksSecret(text) {
		return hidden
	}
	return sanitize.Line(text)
}

// hidden stands for a value that may be secret.
const hidden = "(set, hidden)"

// isSecret reports whether the value of a setting may be secret.
func isSecret(path []string) bool {
	last := path[len(path)-1]
	return sanitize.HoldsSecret(last) && last != "api_key_env" && last != "key_env" && last != "api_key_command" && last != "token_command" && last != "key_header" && path[0] != "budget" ||
		len(path) > 2 && slices.Contains([]string{"headers", "env"}, path[len(path)-2]) && path[0] != "sandbox"
}

// valueIn returns the value at path in a configuration; nil if there is none.
func valueIn(cfg any, path []string) any {
	v := reflect.ValueOf(cfg)
	for _, name := range path {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		switch v.Kind() {
		case reflect.Map:
			v = v.MapIndex(reflect.ValueOf(name))
		case reflect.Struct:
			i := slices.IndexFunc(reflect.VisibleFields(v.Type()), func(f reflect.StructField) bool { return f.Tag.Get("toml") == name })
			if i < 0 {
				return nil
			}
			v = v.FieldByIndex(reflect.VisibleFields(v.Type())[i].Index)
		}
		if !v.IsValid() {
			return nil
		}
	}
	if v.Kind() == reflect.Pointer && v.IsNil() || v.Kind() == reflect.Struct && v.IsZero() {
		return nil
	}
	return v.Interface()
}
