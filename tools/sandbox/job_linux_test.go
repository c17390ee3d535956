package sandbox

import (
	"reflect"
	"strings"
	"testing"
)

// jobs holds jobs as odd as paths and variables can be.
var jobs = []job{
	{policy: policy{Policy: Policy{Workspace: "/w"}}, path: "/bin/sh", argv: []string{"sh"}},
	{
		policy: policy{Policy: Policy{
			Workspace: "/w \n\xff", TempDir: "/t", ReadPaths: []string{"/a", ""}, WritePaths: []string{"/é"},
			Protected: []string{".git/hooks"}, Network: true, Env: []string{"A=1", "B=", "C=\xff\n"},
			LongRunning: true,
		}},
		path: "/bin/sh", argv: []string{"sh", "-c", ""}, abi: 7, hasNamespaces: true, uid: 65534, gid: 1,
		listableEtc: []string{"/etc"}, readableEtc: []string{"/etc/a\n", "/etc/b"},
	},
	{policy: policy{Policy: Policy{Workspace: "/w"}}, path: "/x", argv: []string{""}, unrestricted: true},
}

func TestJob(t *testing.T) {
	for _, want := range jobs {
		text, err := want.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeJob(text)
		for _, j := range []*job{&got, &want} {
			for _, l := range j.stringLists() {
				*l = append([]string{}, *l...) // no list is an empty one
			}
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
	}
}

// No part of a job is a job.
func TestJobCutShort(t *testing.T) {
	for _, j := range jobs {
		text, err := j.encode()
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			if got, err := decodeJob(text[:i]); err == nil {
				t.Errorf("%q was taken for %+v", text[:i], got)
			}
		}
	}
}

// A job is decoded as it was encoded, or not at all.
func FuzzJob(f *testing.F) {
	for _, j := range jobs {
		text, err := j.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
		f.Add(text[:len(text)-1])
	}
	f.Add("true\x00false\x00false\x00false\x007\x000\x000\x00w\x00\x00p\x00999999999999")
	f.Fuzz(func(t *testing.T, text string) {
		j, err := decodeJob(text)
		if err != nil {
			return
		}
		again, err := j.encode()
		if err != nil {
			t.Fatal(err)
		}
		same, err := decodeJob(again)
		if err != nil || !reflect.DeepEqual(same, j) {
			t.Errorf("got %+v, %v, want %+v", same, err, j)
		}
	})
}

func TestDescribeChanges(t *testing.T) {
	tests := []struct {
		restored, lost, kept []string
		want                 string
	}{
		{},
		{[]string{".envrc", ".parley"}, nil, nil, "[the sandbox undid changes of .envrc, .parley: no command may change them]\n"},
		{[]string{".envrc"}, nil, []string{"/c/1"}, "[the sandbox undid changes of .envrc: no command may change them; the removed file is kept in /c/1]\n"},
		{nil, []string{".parley"}, nil, "[CAUTION: .parley was changed and could not be restored]\n"},
		{[]string{"a]\n[b\x1b[2J"}, nil, nil, "[the sandbox undid changes of a]␊[b␛[2J: no command may change them]\n"},
		{nil, []string{".parley"}, []string{"/c/1"}, "[CAUTION: .parley was changed and could not be restored; the removed file is kept in /c/1]\n"},
	}
	many := strings.Repeat("deep/.git/hooks, ", 299) + "deep/.git/hooks"
	if got := describeChanges(changes{restored: strings.Split(many, ", ")}, nil); !strings.Contains(got, many+": no") {
		t.Errorf("not whole: %s", got)
	}
	for _, test := range tests {
		if got := describeChanges(changes{restored: test.restored, failed: test.lost}, test.kept); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
