//go:build ignore

// Pack makes what a release has beside the program, the same bytes each time:
//
//	go run .ci/pack.go archive OUT.tar.gz|OUT.zip DIR   an archive of a folder, under its name
//	go run .ci/pack.go sbom PROGRAM                     the modules in a program, as CycloneDX
//	go run .ci/pack.go licenses PROGRAM                 the licenses of these modules
//
// SOURCE_DATE_EPOCH is the time of all files.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 3 && args[0] == "archive":
		return archive(args[1], args[2])
	case len(args) == 2 && args[0] == "sbom":
		return sbom(args[1])
	case len(args) == 2 && args[0] == "licenses":
		return licenses(args[1])
	}
	return fmt.Errorf("archive OUT DIR, sbom PROGRAM or licenses PROGRAM; not %q", args)
}

// when returns the time that all files get.
func when() (time.Time, error) {
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	return time.Unix(epoch, 0).UTC(), err
}

// archive writes the folder dir as the file out, whose name says how.
func archive(out, dir string) error {
	at, err := when()
	if err != nil {
		return err
	}
	var names []string // in lexical order
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if strings.HasSuffix(out, ".zip") {
		err = zipped(&b, dir, names, at)
	} else {
		err = tarred(&b, dir, names, at)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}

// mode returns that of a file in an archive: programs can be run.
func mode(name string) fs.FileMode {
	if base := filepath.Base(name); base == "parley" || base == "parley.exe" {
		return 0o755
	}
	return 0o644
}

// inside returns the name of a file in the archive of dir.
func inside(dir, name string) string {
	rel, _ := filepath.Rel(filepath.Dir(dir), name)
	return filepath.ToSlash(rel)
}

func tarred(to io.Writer, dir string, names []string, at time.Time) error {
	packed, err := gzip.NewWriterLevel(to, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		h := &tar.Header{Name: inside(dir, name), Mode: int64(mode(name)), Size: int64(len(data)), ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func zipped(to io.Writer, dir string, names []string, at time.Time) error {
	w := zip.NewWriter(to)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: inside(dir, name), Method: zip.Deflate, Modified: at}
		h.SetMode(mode(name))
		f, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}

// linked returns the modules in a program, by their paths.
func linked(program string) (*buildinfo.BuildInfo, []*debug.Module, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, nil, err
	}
	deps := slices.Clone(info.Deps)
	slices.SortFunc(deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	return info, deps, nil
}

// sbom writes what is in a program to standard output, in CycloneDX 1.6.
func sbom(program string) error {
	info, deps, err := linked(program)
	if err != nil {
		return err
	}
	at, err := when()
	if err != nil {
		return err
	}
	type property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		Purl       string     `json:"purl"`
		Properties []property `json:"properties,omitempty"`
	}
	of := func(kind string, m debug.Module) component {
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: kind, Ref: purl, Name: m.Path, Version: m.Version, Purl: purl}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		return c
	}
	parts := []component{{Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion, Purl: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range deps {
		parts = append(parts, of("library", *m))
	}
	enc := json.NewEncoder(os.Stdout)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": parts,
		"metadata": map[string]any{"timestamp": at.Format(time.RFC3339), "component": of("application", info.Main)},
	})
}

// licenses writes the license files of the modules in a program, and of Go, to standard
// output.
func licenses(program string) error {
	_, deps, err := linked(program)
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	if err := license("The Go standard library", strings.TrimSpace(string(root))); err != nil {
		return err
	}
	for _, m := range deps {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m.Path).Output()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		if err := license(m.Path+" "+m.Version, strings.TrimSpace(string(dir))); err != nil {
			return err
		}
	}
	return nil
}

// license writes the files of a folder that are named like licenses; there has to be one.
func license(name, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICEN") && !strings.HasPrefix(upper, "COPYING") && !strings.HasPrefix(upper, "NOTICE") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Printf("%s\n%s: %s\n\n%s\n\n", strings.Repeat("=", 78), name, e.Name(), bytes.TrimSpace(data))
	}
	if !found {
		return fmt.Errorf("%s: no license in %s", name, dir)
	}
	return nil
}
