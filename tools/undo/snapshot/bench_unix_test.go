//go:build unix

package snapshot

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/tools/act"

	"golang.org/x/sys/unix"
)

// makeFiles makes n small files, a hundred in a folder.
func makeFiles(b testing.TB, dir string, n int) {
	b.Helper()
	for i := range n {
		folder := filepath.Join(dir, fmt.Sprintf("a%d/b%d", i/2000, i/100))
		if i%100 == 0 {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(fmt.Sprintf("%s/f%d.go", folder, i), fmt.Appendf(nil, "package f\n\nconst N = %d\n", i), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// cpuTime returns how long the process has used processors.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkSnapshot measures the snapshot that a call waits for, in a repository whose files
// were read before, and in one that is new to parley.
func BenchmarkSnapshot(b *testing.B) {
	for _, n := range []int{5_000, 200_000} {
		dir := fastDir(b)
		run(b, dir, "git", "init", "-q")
		makeFiles(b, dir, n)
		if n <= 5_000 {
			run(b, dir, "git", "add", "-A")
		}
		time.Sleep(2 * time.Duration(clockError))
		for _, warm := range []bool{false, true} {
			b.Run(fmt.Sprintf("files=%d/warm=%v", n, warm), func(b *testing.B) {
				store := openStore(filepath.Join(fastDir(b), "undo"))
				b.ReportAllocs()
				best, used := time.Hour, time.Hour
				for i := 0; b.Loop(); i++ {
					b.StopTimer()
					if !warm {
						store = openStore(filepath.Join(fastDir(b), "undo"))
					}
					h, err := store.history("one", dir)
					if err != nil {
						b.Fatal(err)
					}
					if warm && i == 0 {
						known(b, h)
					}
					b.StartTimer()
					start, cpu := time.Now(), cpuTime(b)
					w := h.Watch(act.FileCall{ID: "c"}).(*Watch)
					said := w.Coverage()
					best, used = min(best, time.Since(start)), min(used, cpuTime(b)-cpu)
					b.StopTimer()
					w.Cancel()
					<-w.done
					if n > 5_000 && said == "" {
						b.Fatalf("%d files: all were covered", n)
					}
					b.StartTimer()
				}
				b.ReportMetric(best.Seconds()*1000, "best-ms")
				b.ReportMetric(used.Seconds()*1000, "best-cpu-ms")
			})
		}
	}
}
