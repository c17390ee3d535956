package store

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// videosTable holds video jobs, because a video that was paid for must not be lost. The JSON of
// a row is a Video.
const videosTable = `CREATE TABLE videos (num INTEGER PRIMARY KEY, video TEXT NOT NULL);`

// A Video is a video job at a provider, and its request.
type Video struct {
	Num     int       `json:"id"`
	Prompt  string    `json:"prompt"`
	To      string    `json:"to,omitempty"`   // absolute path of the file that the user chose; "": none
	File    string    `json:"file,omitempty"` // file it was saved in
	Created time.Time `json:"created"`
	Job     works.Job `json:"job"` // ID is "" if it was requested and the provider did not answer
}

// Name returns the model of the job, as provider/model.
func (v Video) Name() string { return v.Job.Provider + "/" + v.Job.Model }

// Videos are the video jobs of a store.
type Videos struct{ db *DB }

// Videos returns the video jobs.
func (db *DB) Videos() Videos { return Videos{db} }

// Add stores a job before it is requested, and sets its number and time.
func (v Videos) Add(video *Video) error {
	video.Created = v.db.now()
	return v.db.write(func(w *writer) error {
		if err := w.QueryRow(`INSERT INTO videos (video) VALUES ('{}') RETURNING num`).Scan(&video.Num); err != nil {
			return err
		}
		return v.save(w, *video)
	})
}

// Save stores a job again, and enters its cost in the ledger.
func (v Videos) Save(video Video) error {
	return v.db.write(func(w *writer) error { return v.save(w, video) })
}

func (v Videos) save(w *writer, video Video) error {
	row, err := json.Marshal(video)
	if err != nil {
		return err
	}
	if err := w.Exec(`UPDATE videos SET video = ? WHERE num = ?`, string(row), video.Num); err != nil {
		return err
	}
	if video.Job.ID == "" {
		return nil // nothing is known to be paid
	}
	var usage llm.Usage
	if video.Job.Bill != nil {
		usage = video.Job.Bill.Usage()
	}
	return v.db.Ledger().enter(w, []LedgerEntry{{At: video.Created, Seq: video.Num, Model: video.Name(), Purpose: PurposeVideo, Usage: usage}})
}

// Remove deletes a job that the provider did not create.
func (v Videos) Remove(num int) error {
	return v.db.exec(`DELETE FROM videos WHERE num = ?`, num)
}

// List returns the jobs, oldest first. A *DamagedError comes with the readable ones.
func (v Videos) List() (all []Video, err error) {
	bad := 0
	err = v.db.View(func(q Tx) error {
		all, bad = nil, 0
		return EachRow(q, func(rows *sql.Rows) error {
			var num int
			var row []byte
			if err := rows.Scan(&num, &row); err != nil {
				return err
			}
			var video Video
			if json.Unmarshal(row, &video) != nil {
				bad++
				return nil
			}
			video.Num = num
			all = append(all, video)
			return nil
		}, `SELECT num, video FROM videos ORDER BY num`)
	})
	if err == nil && bad > 0 {
		err = &DamagedError{v.db.path, bad, errors.New("jobs of videos")}
	}
	return all, err
}

// Find returns the job with a number, or else the one with that ID at its provider. The error
// is errNoVideo if there is none.
func (v Videos) Find(id string) (Video, error) {
	all, err := v.List()
	var found []Video
	for _, video := range all {
		if fmt.Sprint(video.Num) == id {
			return video, nil
		}
		if video.Job.ID == id && id != "" {
			found = append(found, video)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Video{}, fmt.Errorf("%q: %d video jobs have this ID, such as %d and %d: give a number", id, len(found), found[0].Num, found[1].Num)
	}
	return Video{}, errors.Join(fmt.Errorf("%q: %w", id, errNoVideo), err)
}

// errNoVideo reports that there is no such video job.
var errNoVideo = errors.New("no such video job")

// withoutTarget returns the row of a video job without the file that the user chose, because
// the path may be another file on this machine. The video is then saved in the current
// directory.
func withoutTarget(row any) (string, error) {
	var text []byte
	switch row := row.(type) {
	case string:
		text = []byte(row)
	case []byte:
		text = row
	}
	var video Video
	if err := json.Unmarshal(text, &video); err != nil {
		return "", err
	}
	video.To = ""
	text, err := json.Marshal(video)
	return string(text), err
}
