package cmdutil_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"parley/ui/cli/cmdutil"
)

// commands returns a command with subcommands; some of theirs follow a colon.
func commands(names ...string) *cobra.Command {
	root := &cobra.Command{Use: "parley"}
	for _, name := range names {
		name, subs, _ := strings.Cut(name, ":")
		c := &cobra.Command{Use: name + " WORD", Run: func(*cobra.Command, []string) {}, Hidden: name == "hidden"}
		for _, sub := range strings.Fields(subs) {
			c.AddCommand(&cobra.Command{Use: sub, Run: func(*cobra.Command, []string) {}})
		}
		root.AddCommand(c)
	}
	return root
}

// One word that is similar to a command is a misspelled one; several words are a prompt, unless the second is one of
// its subcommands.
func TestMisspelled(t *testing.T) {
	root := commands("models", "sessions:list show", "doctor", "help")
	for line, want := range map[string]string{
		"": "", "docto": "doctor", "dor": "", "do": "", "hel": "", "hello": "", "docter": "doctor",
		"modelz": "models", "modelz of cars": "", "sesions list": "sessions", "sesions of parliament": "", "what": "",
	} {
		said := ""
		if want != "" {
			said = fmt.Sprintf("unknown command %q: did you mean parley %s? To send it as a prompt, write parley -- %s", strings.Fields(line)[0], want, line)
		}
		got := ""
		if err := cmdutil.Misspelled(root, strings.Fields(line)); err != nil {
			got = err.Error()
		}
		if got != said {
			t.Errorf("%q: got %q, want %q", line, got, said)
		}
	}
	for word, misspelled := range map[string]bool{"docto r": false, "runn": true, "ru": false, "rnu": true} {
		if err := cmdutil.Misspelled(commands("run", "doctor"), []string{word}); (err != nil) != misspelled {
			t.Errorf("%q: got %v", word, err)
		}
	}
}

// An unknown subcommand is answered with a similar one, and with all of them if there are few.
func TestUnknownSubcommand(t *testing.T) {
	few, many := []string{"add", "hidden", "list", "remove", "show", "update", "verify"}, []string{"add", "list", "remove", "show", "update", "verify", "write"}
	if got := cmdutil.Names(commands(few...)); !slices.Equal(got, slices.DeleteFunc(slices.Clone(few), func(s string) bool { return s == "hidden" })) {
		t.Errorf("help lists %q", got)
	}
	for _, tt := range []struct {
		names []string
		name  string
		want  string
	}{
		{nil, "lst", "parley has none"},
		{few, "lst", "did you mean list? parley takes add, list, remove, show, update, verify"},
		{few, "xyz", "parley takes add, list, remove, show, update, verify"},
		{many, "lst", "did you mean parley list?"},
		{many, "xyz", "parley --help lists them"},
	} {
		if got, want := cmdutil.UnknownSubcommand(commands(tt.names...), tt.name).Error(), fmt.Sprintf("unknown command %q: %s", tt.name, tt.want); got != want {
			t.Errorf("%d commands: got  %s\nwant %s", len(tt.names), got, want)
		}
	}
	type word string
	if got := cmdutil.Words([]word{"a", "b"}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %q", got)
	}
}
