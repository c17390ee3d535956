package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"parley/session/store"
	"parley/session/transfer"
)

// ReadFile calls each for the conversations at path, which may be a database of crush,
// opencode or llm, or the directory "storage" of an older opencode, besides files.
// Of databases and that directory, conversations for which known(id, stamp) is true are
// skipped: stamp is that of the Conversation that was read before. A nil known skips none.
// An error of each ends reading and is returned, with path before it.
//
// Nothing is written beside path: databases are copied first, with their logs. If there is no
// conversation, not even a known one, the error is [transfer.ErrNoConversation].
func ReadFile(ctx context.Context, path string, known func(id, stamp string) bool, each func(Conversation) error) ([]Notice, error) {
	r := &sourceReader{limits: standard, skipped: newSkipped(), known: known, each: each}
	err := r.file(ctx, path)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return r.skipped.list(), err
}

func (r *sourceReader) file(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return errors.Unwrap(err)
	case info.IsDir() && isExport(path):
		root, err := os.OpenRoot(path)
		if err != nil {
			return err
		}
		defer root.Close()
		list, err := r.limits.export(root.FS(), r.skipped)
		return errors.Join(r.eachOf(path, list), err)
	case info.IsDir():
		all, err := opencodeDirectory{path, r.limits, r.skipped}.sources(ctx)
		if err != nil {
			return err
		}
		return r.readAll(all)
	}
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	head := make([]byte, len(sqliteMagic))
	if n, _ := io.ReadFull(f, head); string(head[:n]) == sqliteMagic {
		return r.database(ctx, path)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	list, err := r.limits.conversations(f, filepath.Base(path), r.skipped)
	return errors.Join(r.eachOf(path, list), err)
}

// eachOf hands over the conversations in a file or folder.
func (r *sourceReader) eachOf(path string, list []Conversation) error {
	for i := range list {
		r.fillDirectory(path, &list[i])
		if err := r.each(list[i]); err != nil {
			return err
		}
	}
	return nil
}

// isExport reports whether a directory is an unpacked export of ChatGPT or Claude.
func isExport(dir string) bool {
	files, _ := os.ReadDir(dir)
	return slices.ContainsFunc(files, func(f os.DirEntry) bool { return holdsConversations(f.Name()) })
}

// fillDirectory fills in the directory of a session of Gemini CLI, which is in the file
// .project_root beside its chats.
func (r *sourceReader) fillDirectory(path string, c *Conversation) {
	if c.Session.Origin != "gemini-cli" || c.Session.Dir != "" {
		return
	}
	f, err := openRegular(filepath.Join(filepath.Dir(filepath.Dir(path)), ".project_root"))
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	if data, err := io.ReadAll(io.LimitReader(f, 4096)); err == nil {
		c.Session.Dir = directory(string(data))
	}
}

// database reads the database at path. Its tables tell which program wrote it.
func (r *sourceReader) database(ctx context.Context, path string) error {
	d, err := r.limits.openDatabase(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = d.close() }()
	var all []source
	switch {
	case d.has("sessions", "id", "title") && d.has("messages", "id", "session_id", "role", "parts"):
		all, err = d.crush(ctx, path)
	case d.has("session", "id", "title") && d.has("message", "id", "session_id", "data") && d.has("part", "message_id", "data"):
		all, err = d.opencode(ctx, r.skipped)
	case d.has("responses", "id", "prompt", "response", "conversation_id"):
		all, err = d.llm(ctx, r.skipped)
	}
	if err != nil {
		return err
	}
	return r.readAll(all)
}

// sqliteMagic begins each database.
const sqliteMagic = "SQLite format 3\x00"

// A sourceReader reads conversations from a path: a file, a database or a directory.
type sourceReader struct {
	limits  limits
	skipped *skippedCounts
	known   func(id, stamp string) bool // conversations to skip; nil: none
	each    func(Conversation) error
}

// A source is a conversation of a database or directory.
type source struct {
	session  store.Session
	subagent bool
	stamp    string                 // of the Conversation
	read     func(t *builder) error // adds the messages
}

// readAll calls each for the conversations among all that are wanted and have messages.
func (r *sourceReader) readAll(all []source) error {
	for _, s := range all {
		r.skipped.at("session "+truncateLine(s.session.ID), 0)
		t := newBuilder(s.session.Origin, r.skipped)
		t.session = s.session
		switch {
		case s.subagent:
			t.skip(subsessions)
			continue
		case r.known != nil && r.known(sessionID(s.session.Origin, s.session.ID), s.stamp):
			continue
		}
		if err := s.read(t); err != nil {
			return err
		}
		r.skipped.at("", 0)
		for _, c := range t.end() {
			c.Stamp = s.stamp
			if err := r.each(c); err != nil {
				return err
			}
		}
	}
	if len(all) == 0 {
		return transfer.ErrNoConversation
	}
	return nil
}

// A database is a copy of another program's, which may have it open: reading the original
// would write files beside it.
type database struct {
	pool    *sql.DB
	dir     string
	columns map[string][]string // by table
	longest int                 // in bytes; longer values are read as NULL
}

// openDatabase copies the database at path, with the log of changes that are not in it yet.
func (l limits) openDatabase(ctx context.Context, path string) (*database, error) {
	dir, err := os.MkdirTemp("", "parley-import-")
	if err != nil {
		return nil, err
	}
	d := &database{dir: dir, longest: l.line, columns: map[string][]string{}}
	if err := l.copyDatabase(path, filepath.Join(dir, "copy.db")); err != nil {
		return nil, errors.Join(err, d.close())
	}
	path = "/" + strings.TrimPrefix(filepath.ToSlash(filepath.Join(dir, "copy.db")), "/") // Windows: /C:/…
	at := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=synchronous(0)"}
	if d.pool, err = sql.Open("sqlite", at.String()); err != nil {
		return nil, errors.Join(err, d.close())
	}
	d.pool.SetMaxOpenConns(2)
	err = d.rows(ctx, func(row map[string]string) {
		d.columns[row["table"]] = append(d.columns[row["table"]], row["name"])
	}, "table name", `SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c WHERE s.type = 'table' AND s.sql LIKE 'CREATE TABLE%'`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("not a whole database: %w", err), d.close())
	}
	for _, name := range indexed {
		if table, column, _ := strings.Cut(name, "."); d.has(table, column) {
			_, _ = d.pool.ExecContext(ctx, fmt.Sprintf(`CREATE INDEX "parley_%s" ON "%s" ("%s")`, name, table, column)) // reading reports damage
		}
	}
	return d, nil
}

func (d *database) close() error {
	var err error
	if d.pool != nil {
		err = d.pool.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// indexed lists columns by which rows are looked up. A database may lack the indexes that its
// program makes.
var indexed = []string{
	"messages.session_id", "message.session_id", "part.message_id", "responses.conversation_id", "tool_calls.response_id", "tool_results.response_id",
	"tool_results_attachments.tool_result_id", "prompt_fragments.response_id", "fragments.id", "prompt_attachments.response_id", "attachments.id",
}

// has reports whether there is such a table with these columns.
func (d *database) has(table string, columns ...string) bool {
	for _, c := range columns {
		if !slices.Contains(d.columns[table], c) {
			return false
		}
	}
	return d.columns[table] != nil
}

// read calls f for rows of the table that from begins with, with the values of columns: "" for
// those that the table lacks, and for values that are too long.
func (d *database) read(ctx context.Context, f func(row map[string]string), columns, from string, args ...any) error {
	table, _, _ := strings.Cut(from, " ")
	var all []string
	for _, c := range strings.Fields(columns) {
		value := "NULL"
		if d.has(table, c) {
			value = fmt.Sprintf(`iif(length("%s") > %d, NULL, "%[1]s")`, c, d.longest)
		}
		all = append(all, value)
	}
	return d.rows(ctx, f, columns, "SELECT "+strings.Join(all, ", ")+" FROM "+from, args...)
}

// rows calls f for the rows of a query, with the values by the names in columns, as valid UTF-8, NULL as "".
func (d *database) rows(ctx context.Context, f func(row map[string]string), columns, query string, args ...any) error {
	rows, err := d.pool.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	names := strings.Fields(columns)
	values, at := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range values {
		at[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(at...); err != nil {
			return err
		}
		row := make(map[string]string, len(names))
		for i, v := range values {
			row[names[i]] = strings.ToValidUTF8(v.String, "\ufffd")
		}
		f(row)
	}
	return rows.Err()
}

// copyDatabase copies a database and its logs. If they change meanwhile, it starts again, five
// times at most.
func (l limits) copyDatabase(path, to string) error {
	for range 5 {
		before := databaseState(path)
		for _, suffix := range databaseFiles {
			if err := l.copyFile(path+suffix, to+suffix); err != nil && (suffix == "" || !errors.Is(err, os.ErrNotExist)) {
				return err
			}
		}
		if databaseState(path) == before {
			return nil
		}
		for _, suffix := range databaseFiles {
			_ = os.Remove(to + suffix)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return errors.New("it changes all the time: close the program that writes it, and try again")
}

// databaseFiles holds the suffixes of a database and its logs.
var databaseFiles = []string{"", "-wal", "-journal"}

// databaseState returns the sizes and times of a database and its logs, as text to compare.
func databaseState(path string) (state string) {
	for _, suffix := range databaseFiles {
		if info, err := os.Stat(path + suffix); err == nil {
			state += fmt.Sprintf("%d %d;", info.Size(), info.ModTime().UnixNano())
		} else {
			state += ";"
		}
	}
	return state
}

func (l limits) copyFile(from, to string) error {
	in, err := openRegular(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, l.database+1))
	if err == nil && n > l.database {
		err = fmt.Errorf("larger than %d GB", l.database>>30)
	}
	return errors.Join(err, out.Close())
}

// openRegular opens a regular file. Opening a pipe or device could block.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	return os.Open(path)
}
