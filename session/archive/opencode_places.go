package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An opencodeDatabase is opencode.db.
type opencodeDatabase struct{ *database }

func (d opencodeDatabase) sessions(ctx context.Context, r *sourceReader) (all []opencodeSession, err error) {
	counts := map[string]string{}
	if d.has("message", "time_created") {
		err = d.rows(ctx, func(row []string) error {
			counts[row[0]] = row[1] + "/" + row[2]
			return nil
		}, `SELECT session_id, count(*), max(time_created) FROM message GROUP BY session_id`)
	}
	if err != nil {
		return nil, err
	}
	err = d.rows(ctx, func(row []string) error {
		s := opencodeSession{ID: row[0], Parent: row[1], Title: row[2], Dir: row[3], stamp: row[5] + "/" + counts[row[0]]}
		s.Time.Created, s.Time.Updated = parseNumber(row[4]), parseNumber(row[5])
		if row[6] != "" {
			r.skipped.at("session "+truncateLine(s.ID), 0)
			r.skipped.decode([]byte(row[6]), &s.Revert, badRows)
		}
		all = append(all, s)
		return nil
	}, `SELECT `+d.columnList("session", "id", "parent_id", "title", "directory", "time_created", "time_updated", "revert")+` FROM session ORDER BY id`)
	return all, err
}

func (d opencodeDatabase) messages(ctx context.Context, _ *sourceReader, session string) (ids []string, messages, parts map[string][]json.RawMessage, err error) {
	messages, parts = map[string][]json.RawMessage{}, map[string][]json.RawMessage{}
	order := "rowid"
	if d.has("message", "time_created") {
		order = "time_created, id"
	}
	err = d.rows(ctx, func(row []string) error {
		ids = append(ids, row[0])
		messages[row[0]] = []json.RawMessage{json.RawMessage(row[1])}
		return nil
	}, `SELECT `+d.columnList("message", "id", "data")+` FROM message WHERE session_id = ? ORDER BY `+order, session)
	if err != nil {
		return nil, nil, nil, err
	}
	err = d.rows(ctx, func(row []string) error {
		parts[row[0]] = append(parts[row[0]], json.RawMessage(row[1]))
		return nil
	}, `SELECT p.message_id, iif(length(p.data) > ?, NULL, p.data) FROM part p JOIN message m ON p.message_id = m.id WHERE m.session_id = ? ORDER BY p.message_id, p.id`,
		d.longest, session)
	return ids, messages, parts, err
}

// An opencodeDirectory is "storage" of an older opencode: session/PROJECT/ID.json,
// message/SESSION/ID.json and part/MESSAGE/ID.json.
type opencodeDirectory string

// storage reads the directory "storage" of an older opencode.
func (r *sourceReader) storage(ctx context.Context, path string) error {
	if info, err := os.Stat(filepath.Join(path, "session")); err != nil || !info.IsDir() {
		return ErrNoConversation
	}
	if err := r.opencode(ctx, opencodeDirectory(path)); err != nil {
		return err
	}
	if r.found == 0 {
		return ErrNoConversation
	}
	return nil
}

func (d opencodeDirectory) sessions(ctx context.Context, r *sourceReader) (all []opencodeSession, err error) {
	projects, err := os.ReadDir(filepath.Join(string(d), "session"))
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	for _, p := range projects {
		if !p.IsDir() || ctx.Err() != nil {
			continue
		}
		dir := filepath.Join(string(d), "session", p.Name())
		names, err := d.names(r, dir)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			var s opencodeSession
			data, state := d.read(r, filepath.Join(dir, name))
			if data == nil || !r.skipped.decode(data, &s, badRows) {
				continue
			}
			if s.ID = strings.TrimSuffix(name, ".json"); !validID(s.ID) {
				r.skipped.add(badRows, 1)
				continue
			}
			if info, err := os.Stat(filepath.Join(string(d), "message", s.ID)); err == nil {
				state += fmt.Sprintf("/%d", info.ModTime().UnixNano())
			}
			s.stamp = state
			all = append(all, s)
		}
	}
	return all, ctx.Err()
}

func (d opencodeDirectory) messages(ctx context.Context, r *sourceReader, session string) (ids []string, messages, parts map[string][]json.RawMessage, err error) {
	messages, parts = map[string][]json.RawMessage{}, map[string][]json.RawMessage{}
	dir := filepath.Join(string(d), "message", session)
	names, err := d.names(r, dir)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, name := range names {
		id := strings.TrimSuffix(name, ".json")
		data, _ := d.read(r, filepath.Join(dir, name))
		if data == nil || !validID(id) || ctx.Err() != nil {
			continue
		}
		ids, messages[id] = append(ids, id), []json.RawMessage{data}
		below := filepath.Join(string(d), "part", id)
		pieces, err := d.names(r, below)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, piece := range pieces {
			if data, _ := d.read(r, filepath.Join(below, piece)); data != nil {
				parts[id] = append(parts[id], data)
			}
		}
	}
	return ids, messages, parts, ctx.Err()
}

// names returns the names of JSON files in a directory, sorted; none if it does not exist.
func (d opencodeDirectory) names(r *sourceReader, dir string) (names []string, err error) {
	f, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(r.limits.files)
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
func (d opencodeDirectory) read(r *sourceReader, path string) (data []byte, state string) {
	short, err := filepath.Rel(string(d), path)
	if err != nil {
		short = path
	}
	r.skipped.at(filepath.ToSlash(short), 0)
	f, err := openRegular(path)
	if err != nil {
		r.skipped.add(badRows, 1)
		return nil, ""
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil {
		state = fmt.Sprintf("%d/%d", info.Size(), info.ModTime().UnixNano())
	}
	data, err = io.ReadAll(io.LimitReader(f, int64(r.limits.line)+1))
	if err != nil || len(data) > r.limits.line || len(data) == 0 {
		r.skipped.add(badRows, 1)
		return nil, ""
	}
	return data, state
}
