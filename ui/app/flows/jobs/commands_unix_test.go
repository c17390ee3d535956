//go:build unix

package jobs_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/flows/jobs"
	"parley/ui/uitest/apptest"
)

// titles returns the rows of a list as text, without times and sizes.
func titles(items []app.Item) (rows []string) {
	for _, i := range items {
		state, _, _ := strings.Cut(i.Detail, " · ")
		rows = append(rows, i.Title+": "+state+" ["+i.Value+"]")
	}
	return rows
}

// TestJobsOfCommands moves commands that the user typed to the background, shows, lists and kills them.
func TestJobsOfCommands(t *testing.T) {
	dir := t.TempDir()
	set, err := tools.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	a := apptest.New(t, jobs.Register, apptest.Tools(t), func(o *app.Options) { o.Machine.Jobs = set.Jobs() })
	reports := make(chan func() app.Effect, 9)
	a.WatchAll(func(happened func() app.Effect) { reports <- happened })
	run := func(line string) app.Effect { return apptest.Run(t, a, line) }
	start := func(command string) {
		started := make(chan string, 9)
		returned := make(chan act.Outcome, 1)
		go func() {
			returned <- tools.RunUserCommand(act.WithJobOwner(context.Background(), a.Session.ID()), dir, set.Jobs(), command, func(text string) { started <- text })
		}()
		<-started
		if got := apptest.Toast(run("/background")); !strings.HasPrefix(got, "Moved to the background · ") || !strings.HasSuffix(got, " shows it") {
			t.Errorf("moved: %q", got)
		}
		<-returned
	}

	if got := apptest.Toast(run("/background")); got != "No command is running" {
		t.Errorf("nothing runs: %q", got)
	}
	if why := a.Command("jobs").Unavailable(); !strings.HasPrefix(why, "No commands in the background · ") {
		t.Errorf("/jobs: %q", why)
	}
	start("echo one; until [ -e end ]; do sleep 0.005; done # first")
	start("echo two; exec sleep 60")
	if why := a.Command("jobs").Unavailable(); why != "" {
		t.Errorf("/jobs with two jobs: %q", why)
	}
	const first, second = "1. echo one; until [ -e end ]; do sleep 0.005; done # first: ", "2. echo two; exec sleep 60: "
	list := apptest.See(run("/jobs")).List
	if got, want := titles(list.Items), []string{second + "running [2]", first + "running [1]"}; !slices.Equal(got, want) {
		t.Errorf("/jobs lists %q, want %q", got, want)
	}
	arguments := titles(a.Command("jobs").Args())
	if want := []string{second + "running [2]", "kill 2: echo two; exec sleep 60 [kill 2]", first + "running [1]"}; len(arguments) != 4 || !slices.Equal(arguments[:3], want) {
		t.Errorf("arguments %q", arguments)
	}

	show := func(e app.Effect) app.Output {
		t.Helper()
		out, ok := e.(app.Output)
		if !ok {
			t.Fatalf("no output: %+v", e)
		}
		return out
	}
	choice := apptest.See(list.Choose("1")).List
	if got, want := titles(choice.Items), []string{"Show output:  [1]", "Kill: with everything it started [kill 1]"}; !slices.Equal(got, want) {
		t.Errorf("a running job offers %q, want %q", got, want)
	}
	out := show(choice.Choose("1"))
	text := out.Read()
	if out.Title != "Job 1" || !strings.HasPrefix(text.Title, "Job 1: echo one; ") || !slices.Equal(text.Lines, []string{"one"}) || text.Size != 4 || !text.Running {
		t.Errorf("shows %+v", text)
	}
	changed := make(chan bool, 99)
	out.Watch(func() { changed <- true })
	if err := os.WriteFile(filepath.Join(dir, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-changed
	if said := apptest.See((<-reports)()); said.Event != (llm.Notice{Text: "Job 1 ended: exit status 0: echo one; until [ -e end ]; do sleep 0.005; done # first · /jobs 1 shows its output"}) {
		t.Errorf("the end is reported as %+v", said)
	}
	if text := out.Read(); text.Running || !strings.HasPrefix(text.State, "exit status 0 · ") {
		t.Errorf("after its end: %+v", text)
	}
	if text := show(list.Choose("1")).Read(); text.Lines[0] != "one" { // a job that has ended has no choices
		t.Errorf("an ended job shows %+v", text)
	}
	if got := titles(a.Command("jobs").Args()); len(got) != 3 {
		t.Errorf("an ended job can be killed: %q", got)
	}

	if got := apptest.Toast(run("/jobs kill 2")); got != "Killed job 2: echo two; exec sleep 60" {
		t.Errorf("kill: %q", got)
	}
	if e := (<-reports)(); apptest.See(e).Event != nil || apptest.See(e).Toast != "" {
		t.Errorf("a killed job is reported: %+v", e)
	}
	if got := apptest.Toast(run("/jobs kill 2")); !strings.HasPrefix(got, "Job 2 has ended: ") {
		t.Errorf("killed twice: %q", got)
	}
}
