package adapter

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"parley/providers/llm"
)

// Fields returns the user's own body fields for req: those of the configuration, overlaid with
// llm.Settings.Options except refused ones, which the notices report. Asked lists the outermost
// fields that Options affects. Merging does not modify the values in fields; callers must not
// modify them either.
func (o Options) Fields(req llm.Request) (fields map[string]any, asked []string, notices []string) {
	if len(req.Options) == 0 {
		return o.Body, nil, nil
	}
	fields, _ = cloneItem(o.Body).(map[string]any)
	if fields == nil {
		fields = map[string]any{}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Options)) {
		value := req.Options[name]
		if o.Learned.Has(optionKey(name, value)) {
			notices = append(notices, NotSent(o.Model, name))
			continue
		}
		outer, _, _ := strings.Cut(name, ".")
		asked = append(asked, outer)
		more := map[string]any{}
		SetField(more, name, value)
		mergeObjects(fields, more)
	}
	return fields, asked, notices
}

// mergeObjects merges add into into: objects are merged, everything else is replaced.
func mergeObjects(into, add map[string]any) {
	for name, value := range add {
		inner, ok := into[name].(map[string]any)
		if more, also := value.(map[string]any); ok && also {
			mergeObjects(inner, more)
			continue
		}
		into[name] = cloneItem(value)
	}
}

// optionKey returns the name of the limit for a refused field. Another value is tried again.
func optionKey(name string, value any) string {
	return "option:" + name + "=" + Hash(llm.OptionText(value))[:16]
}

// NotSent returns the notice for a field that a server refused earlier.
func NotSent(model, field string) string {
	return fmt.Sprintf("%s does not take %s; not sent", model, field)
}

// SentWithout returns the notice for a field that a server refused just now.
func SentWithout(model, field string) string {
	return fmt.Sprintf("%s does not take %s; sent again without it", model, field)
}

// isNotSent reports whether a notice was made by NotSent.
func isNotSent(model, notice string) bool {
	return strings.HasPrefix(notice, model+" does not take ") && strings.HasSuffix(notice, "; not sent")
}

// refusedOption checks whether the server refused one of the fields of llm.Settings.Options. If so,
// it learns the limit and returns a notice for the user. Of nested fields, the innermost is meant.
func (s Sender) refusedOption(fault *llm.Error) (notice string, ok bool) {
	if !MayBlameField(fault) {
		return "", false
	}
	names := slices.Sorted(maps.Keys(s.Extra))
	slices.SortStableFunc(names, func(a, b string) int { return strings.Count(b, ".") - strings.Count(a, ".") })
	for _, name := range names {
		key := optionKey(name, s.Extra[name])
		if !s.Options.Learned.Has(key) && blames(fault, name) && s.Options.Learned.Learn(key, "", true) {
			return SentWithout(s.Options.Model, name), true
		}
	}
	return "", false
}

// blames reports whether an error is about a field that the user added: it contains the whole name
// or the last part of it, possibly in Google's snake case.
func blames(fault *llm.Error, name string) bool {
	inner := name[strings.LastIndexByte(name, '.')+1:]
	for _, name := range []string{name, inner, snake(inner)} {
		if IsAbout(fault, name) {
			return true
		}
		alone := `(^|[\s.])` + regexp.QuoteMeta(name) + `(:|\.?$| (is|was) not )`
		if fault.Param == "" && regexp.MustCompile(alone).MatchString(fault.Message) {
			return true
		}
	}
	return false
}

// snake converts a name from camel case to snake case.
func snake(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// IsAbout reports whether an error is about a field. Common words count only in quotes or in
// FastAPI's notation.
func IsAbout(fault *llm.Error, field string) bool {
	if fault.Param == field || strings.HasPrefix(fault.Param, field+".") {
		return true
	}
	if fault.Param != "" && !strings.HasPrefix(fault.Param, "body") {
		return false
	}
	word := regexp.QuoteMeta(field)
	if strings.ContainsAny(field, "_.") || field == "temperature" {
		return regexp.MustCompile(`(^|[^a-z_])` + word + `($|[^a-z_])`).MatchString(fault.Message)
	}
	return regexp.MustCompile("['\"`]" + word + "['\"`.]|(^|\\W)body\\." + word + ":").MatchString(fault.Message)
}
