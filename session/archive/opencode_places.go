package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// opencode reads opencode.db.
func (d *database) opencode(ctx context.Context, n *skippedCounts) (all []source, err error) {
	counts := map[string]string{}
	order := "rowid"
	if d.has("message", "time_created") {
		order = "time_created, id"
		err = d.rows(ctx, func(row map[string]string) {
			counts[row["session_id"]] = row["count"] + "/" + row["last"]
		}, "session_id count last", `SELECT session_id, count(*), max(time_created) FROM message GROUP BY session_id`)
	}
	if err != nil {
		return nil, err
	}
	err = d.read(ctx, func(row map[string]string) {
		s := opencodeSession{ID: row["id"], Parent: row["parent_id"], Title: row["title"], Dir: row["directory"]}
		s.Time.Created, s.Time.Updated = parseNumber(row["time_created"]), parseNumber(row["time_updated"])
		if row["revert"] != "" {
			n.at("session "+truncateLine(s.ID), 0)
			n.decode([]byte(row["revert"]), &s.Revert, badRows)
		}
		all = append(all, s.source(row["time_updated"]+"/"+counts[s.ID], func() (messages []opencodeRow, err error) {
			parts := map[string][]string{}
			err = d.rows(ctx, func(row map[string]string) { parts[row["id"]] = append(parts[row["id"]], row["data"]) },
				"id data", `SELECT m.id, iif(length(p.data) > ?, NULL, p.data) FROM part p JOIN message m ON p.message_id = m.id WHERE m.session_id = ? ORDER BY m.id, p.id`,
				d.longest, s.ID)
			if err != nil {
				return nil, err
			}
			err = d.read(ctx, func(row map[string]string) {
				messages = append(messages, opencodeRow{row["id"], row["data"], parts[row["id"]]})
			}, "id data", "message WHERE session_id = ? ORDER BY "+order, s.ID)
			return messages, err
		}))
	}, "id parent_id title directory time_created time_updated revert", "session ORDER BY id")
	return all, err
}

// An opencodeDirectory is "storage" of an older opencode: session/PROJECT/ID.json,
// message/SESSION/ID.json and part/MESSAGE/ID.json.
type opencodeDirectory struct {
	path    string
	limits  limits
	skipped *skippedCounts
}

// sources returns the conversations in d.
func (d opencodeDirectory) sources(ctx context.Context) (all []source, err error) {
	projects, err := os.ReadDir(filepath.Join(d.path, "session"))
	if errors.Is(err, os.ErrPermission) {
		return nil, errors.Unwrap(err)
	}
	for _, p := range projects {
		if !p.IsDir() || ctx.Err() != nil {
			continue
		}
		dir := filepath.Join(d.path, "session", p.Name())
		names, err := d.names(dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var s opencodeSession
			data, state := d.read(filepath.Join(dir, name))
			if data == nil || !d.skipped.decode(data, &s, badRows) {
				continue
			}
			if s.ID = strings.TrimSuffix(name, ".json"); !validID(s.ID) {
				d.skipped.add(badRows, 1)
				continue
			}
			below := filepath.Join(d.path, "message", s.ID)
			if info, err := os.Stat(below); err == nil {
				state += fmt.Sprintf("/%d", info.ModTime().UnixNano())
			}
			all = append(all, s.source(state, func() ([]opencodeRow, error) { return d.messages(ctx, below) }))
		}
	}
	return all, ctx.Err()
}

// messagesOf returns the messages of a session, whose files are in dir.
func (d opencodeDirectory) messages(ctx context.Context, dir string) (all []opencodeRow, err error) {
	names, err := d.names(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		m := opencodeRow{id: strings.TrimSuffix(name, ".json")}
		data, _ := d.read(filepath.Join(dir, name))
		if data == nil || !validID(m.id) || ctx.Err() != nil {
			continue
		}
		m.data = string(data)
		below := filepath.Join(d.path, "part", m.id)
		pieces, err := d.names(below)
		if err != nil {
			return nil, err
		}
		for _, piece := range pieces {
			if data, _ := d.read(filepath.Join(below, piece)); data != nil {
				m.parts = append(m.parts, string(data))
			}
		}
		all = append(all, m)
	}
	return all, ctx.Err()
}

// names returns the names of JSON files in a directory, sorted; none if it does not exist.
func (d opencodeDirectory) names(dir string) (names []string, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(d.limits.files)
	if err != nil && err != io.EOF {
		return nil, err
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ".json") { // no links
			names = append(names, e.Name())
		}
	}
	slices.Sort(names) // ids rise
	return names, nil
}

// read returns the content of a file, nil if it cannot be read, and its size and time as text.
func (d opencodeDirectory) read(path string) (data []byte, state string) {
	short, err := filepath.Rel(d.path, path)
	if err != nil {
		short = path
	}
	d.skipped.at(filepath.ToSlash(short), 0)
	f, err := openRegular(path)
	if err != nil {
		d.skipped.add(badRows, 1)
		return nil, ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil {
		state = fmt.Sprintf("%d/%d", info.Size(), info.ModTime().UnixNano())
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(d.limits.line)+1))
	if err != nil || len(data) > d.limits.line || len(data) == 0 {
		d.skipped.add(badRows, 1)
		return nil, ""
	}
	return data, state
}
