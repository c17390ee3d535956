package jobs

import (
	"testing"
	"time"

	"parley/providers/llm"
	"parley/tools"
	"parley/ui/uitest/apptest"
)

// The duration of a command is not negative, even if the clock is set back.
func TestJobStateAndClock(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for want, j := range map[string]tools.Job{
		"running · 0 bytes":       {Started: at.Add(time.Hour)},
		"running · 1 s · 7 bytes": {Started: at.Add(-time.Second), Size: 7},
		"exited · 0 ms · 0 bytes": {Started: at, Ended: at.Add(-time.Minute), State: "exited"},
	} {
		if got := jobState(j, at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// The end of a command is stored only in the conversation that started it.
func TestJobOfAnotherConversation(t *testing.T) {
	a := apptest.New(t, Register, apptest.Tools(t))
	f := flow{app: a}
	is := tools.Job{N: 1, Command: "make", State: "exit status 0", Ended: a.Now()}
	const want = "Job 1 ended: exit status 0: make · /jobs 1 shows its output"
	if e := f.ended(is); apptest.See(e).Event != nil || apptest.See(e).Toast != want {
		t.Errorf("of another: got %+v", e)
	}
	is.Owner = a.Session.ID()
	if e := f.ended(is); apptest.See(e).Event != (llm.Notice{Text: want}) || apptest.See(e).Toast != "" {
		t.Errorf("of this one: got %+v", e)
	}
}

// An unknown argument of /jobs is reported together with the known ones.
func TestWordsOfJobs(t *testing.T) {
	a := apptest.New(t, Register, apptest.Tools(t))
	f := flow{app: a}
	const takes = "use /jobs, /jobs NUMBER or /jobs kill NUMBER"
	for arg, want := range map[string]string{
		"kil":     `Unknown action "kil": did you mean /jobs kill? Or ` + takes,
		"klil 3":  `Unknown action "klil": did you mean /jobs kill 3? Or ` + takes,
		"show":    `Unknown action "show": ` + takes,
		"kill":    "No number of a job: " + takes,
		"kill x":  "No number of a job: " + takes,
		"7":       "No job 7: /jobs lists them",
		"kill 12": "No job 12: /jobs lists them",
	} {
		if got := apptest.Toast(f.command(arg)); got != want {
			t.Errorf("/jobs %s: got %q, want %q", arg, got, want)
		}
	}
}
