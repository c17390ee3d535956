package store

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/providers/llm/works"
	"parley/providers/llmtest"
)

// TestVideos keeps jobs for another process, finds them by number and by the provider's id,
// and counts each as spending once, at its last price.
func TestVideos(t *testing.T) {
	path := filepath.Join(llmtest.Folder(t), "parley.db")
	db, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	first := Video{Prompt: "a fox", Job: works.Job{Provider: "xai", Model: "m"}}
	second := Video{Prompt: "\x1b[2J", Job: works.Job{Provider: "xai", Model: "m"}}
	if err := errors.Join(db.Videos().Add(&first), db.Videos().Add(&second)); err != nil || first.Num != 1 || second.Num != 2 {
		t.Fatalf("%d, %d, %v", first.Num, second.Num, err)
	}
	if spent, _ := dailyUsage(db, time.Time{}, time.Time{}, true); len(spent) != 0 {
		t.Errorf("a job that does not run costs %+v", spent)
	}
	for _, usd := range []float64{0.4, 0.3} {
		first.Job.ID, first.Job.State, first.Job.Bill = "../job", works.JobRunning, &works.Bill{USD: usd, Priced: true}
		if err := db.Videos().Save(first); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(db.Videos().Remove(second.Num), db.Close()); err != nil {
		t.Fatal(err)
	}
	db = reopen(t, path)
	for _, id := range []string{"1", "../job"} {
		if got, err := db.Videos().Find(id); err != nil || got.Prompt != "a fox" || got.Job.State != works.JobRunning || got.Name() != "xai/m" {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	for _, id := range []string{"2", "", "x"} {
		if _, err := db.Videos().Find(id); !errors.Is(err, errNoVideo) {
			t.Errorf("%q: %v", id, err)
		}
	}
	spent, err := dailyUsage(db, time.Time{}, time.Time{}, true)
	if err != nil || len(spent) != 1 || spent[0].Usage.Cost != 0.3 || spent[0].Answers != 1 || spent[0].Session != "video" {
		t.Errorf("%+v, %v", spent, err)
	}
	for _, id := range []string{"3", "3", "twice", "twice"} {
		v := Video{Prompt: "as number " + id, Job: works.Job{Provider: "zai", Model: "m"}}
		if err := db.Videos().Add(&v); err != nil {
			t.Fatal(err)
		}
		v.Job.ID = id
		if v.Num == 3 {
			v.Job.ID = "4" // which is the number of the next
		}
		if err := db.Videos().Save(v); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := db.Videos().Find("4"); err != nil || got.Num != 4 {
		t.Errorf("number 4 is %d, %v", got.Num, err)
	}
	if got, err := db.Videos().Find("twice"); err == nil || errors.Is(err, errNoVideo) || !strings.Contains(err.Error(), "2 video jobs have this ID") {
		t.Errorf("an ID of two jobs: %d, %v", got.Num, err)
	}
}
