package schema_test

import (
	"testing"

	"parley/providers/schema"
)

func TestMatchTool(t *testing.T) {
	names := []string{"read", "write", "edit", "list", "glob", "grep", "shell", "fetch", "mcp__wiki__search_pages", "mcp__a__do_it", "mcp__a__doIt", "deploy"}
	for _, tt := range []struct{ in, want string }{
		{"read", "read"},
		{"Read", "read"},
		{"READ", "read"},
		{"functions.read", "read"},
		{"functions.read:0", "read"},
		{"functions.Read:12", "read"},
		{"default_api:read", "read"},
		{"default_api.Deploy", "deploy"},
		{"functions.read_file", "read"},
		{"read<|channel|>commentary", "read"},
		{"functions.read<|channel|>analysis json", "read"},
		{"read <|constrain|>json", "read"},
		{"commentary to=functions.read", "read"},
		{"<|channel|>commentary to=functions.read", "read"},
		{"commentary to=functions.read json", "read"},
		{"mcp-wiki-search-pages", "mcp__wiki__search_pages"},
		{"mcp.wiki.searchPages", "mcp__wiki__search_pages"},
		{"mcp__a__do_it", "mcp__a__do_it"},
		{"mcp__A__DO_IT", ""}, // two fit
		{"mcp__b__search_pages", ""},
		{"search_pages", ""},
		{"read_file", "read"},
		{"ReadFile", "read"},
		{"bash", "shell"},
		{"Bash", "shell"},
		{"run_shell_command", "shell"},
		{"container.exec", "shell"},
		{"str_replace", "edit"},
		{"write_file", "write"},
		{"LS", "list"},
		{"web_fetch", "fetch"},
		{"read2", ""},
		{"rea", ""},
		{"", ""},
		{"...", ""},
		{"<|constrain|>json", ""},
	} {
		if got := schema.MatchTool(tt.in, names); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
	if got := schema.MatchTool("read_file", []string{"read", "read_file"}); got != "read_file" {
		t.Errorf("an exact name: got %q", got)
	}
	if got := schema.MatchTool("readFile", []string{"read", "read_file"}); got != "read_file" {
		t.Errorf("a name that differs in case: got %q", got)
	}
	if got := schema.CutHarmony("<|constrain|>json"); got != "json" {
		t.Errorf("got %q", got)
	}
}

func TestRenameArguments(t *testing.T) {
	const (
		read  = `{"type":"object","properties":{"path":{},"offset":{},"limit":{}},"required":["path"],"additionalProperties":false}`
		edit  = `{"type":"object","properties":{"path":{},"old":{},"new":{},"all":{}},"required":["path","old","new"],"additionalProperties":false}`
		grep  = `{"type":"object","properties":{"pattern":{},"path":{},"ignore_case":{}},"required":["pattern"],"additionalProperties":false}`
		other = `{"type":"object","properties":{"path":{},"pageTitle":{}},"required":["pageTitle"]}`
	)
	for _, tt := range []struct{ name, schema, in, want string }{
		{"as it is", read, `{"path":"a", "limit":1}`, `{"path":"a", "limit":1}`},
		{"a well-known name", read, `{"file_path":"a","limit":12345678901234567890}`, `{"path":"a","limit":12345678901234567890}`},
		{"a folder", read, `{"directory":"a"}`, `{"path":"a"}`},
		{"case", read, `{"Path":"a"}`, `{"path":"a"}`},
		{"several", edit, `{"file_path":"a","old_string":"x","new_string":"y","replace_all":true}`, `{"path":"a","old":"x","new":"y","all":true}`},
		{"separators", grep, `{"query":"x","ignoreCase":true}`, `{"pattern":"x","ignore_case":true}`},
		{"given already", read, `{"path":"a","file_path":"b"}`, `{"path":"a","file_path":"b"}`},
		{"two that fit", read, `{"file":"a","file_path":"b"}`, `{"file":"a","file_path":"b"}`},
		{"unknown", read, `{"path":"a","color":"b"}`, `{"path":"a","color":"b"}`},
		{"others are allowed: required", other, `{"page_title":"a"}`, `{"pageTitle":"a"}`},
		{"others are allowed: not required", other, `{"pageTitle":"a","file_path":"b"}`, `{"pageTitle":"a","file_path":"b"}`},
		{"no schema", `true`, `{"a":1}`, `{"a":1}`},
		{"no object", read, `[1]`, `[1]`},
	} {
		if got := string(schema.RenameArguments([]byte(tt.schema), []byte(tt.in))); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
