package acp

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/session"
	"parley/ui/client"
)

// Conversations are listed in pages. The cursor is how many were listed; there is none after the last page.
func TestListInPages(t *testing.T) {
	folder := t.TempDir()
	for _, c := range []struct {
		stored int
		cursor string
		want   string // first and last one, and the next cursor
	}{
		{0, "", "none"}, {1, "", "0-0 "}, {page, "", "0-49 "}, {page + 1, "", "0-49 50"}, {page + 1, "50", "50-50 "}, {2*page + 1, "50", "50-99 100"},
		{3, "0", "0-2 "}, {3, "3", "none"}, {3, "99", "none"}, {3, "-1", "refused"}, {3, "x", "refused"},
	} {
		a := &agent{Options: client.Options{List: func(dir string) (list []session.Info, err error) {
			for i := range c.stored {
				list = append(list, session.Info{ID: strconv.Itoa(i), Dir: folder, Title: "t", Updated: time.Unix(1e9, 0)})
			}
			return append(list, session.Info{ID: "elsewhere", Dir: filepath.Join(folder, "other")}, session.Info{ID: "of an import", Dir: "relative"}), nil
		}}}
		request := sdk.ListSessionsRequest{Cwd: &folder}
		if c.cursor != "" {
			request.Cursor = &c.cursor
		}
		r, err := a.ListSessions(t.Context(), request)
		got := "none"
		switch n := len(r.Sessions); {
		case err != nil:
			got = "refused"
		case n > 0:
			got = fmt.Sprintf("%s-%s ", r.Sessions[0].SessionId, r.Sessions[n-1].SessionId)
			if *r.Sessions[0].Title != "t" || *r.Sessions[0].UpdatedAt != "2001-09-09T01:46:40Z" {
				t.Errorf("the first one is %+v", r.Sessions[0])
			}
		}
		if r.NextCursor != nil {
			got += *r.NextCursor
		}
		if got != c.want {
			t.Errorf("%d from %q: got %s, want %s", c.stored, c.cursor, got, c.want)
		}
	}
}
