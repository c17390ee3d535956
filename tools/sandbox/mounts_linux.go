package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// detachedMount is a mount to be attached, writable, at path.
type detachedMount struct {
	path string
	fd   int
}

// isolateMounts gives the helper, in its namespaces, a read-only view of the file system
// except for the paths that p allows to write, with its own /proc, /tmp and /dev/shm. It
// updates p accordingly.
func isolateMounts(p *policy) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("own mounts: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	writable := append([]string{p.Workspace, p.TempDir}, p.WritePaths...)
	slices.Sort(writable) // parents come first
	var trees []detachedMount
	for _, path := range slices.Compact(writable) {
		if t, err := cloneMount(path); err == nil { // missing paths cannot be changed
			trees = append(trees, t)
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &readOnly); err != nil {
		return fmt.Errorf("read-only mounts: %w", err)
	}
	if i := slices.IndexFunc(trees, func(t detachedMount) bool { return t.path == p.TempDir }); i >= 0 && canReplaceTmp(*p, dir) {
		trees[i].path, p.TempDir = "/tmp", "/tmp"
	}
	if unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777") == nil {
		p.WritePaths = append(p.WritePaths, "/dev/shm")
	}
	// A container may forbid this. The old /proc then shows other processes,
	// but Landlock prevents access to them.
	_ = unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	for _, t := range trees {
		if err := t.attach(); err != nil {
			return fmt.Errorf("mount %s: %w", t.path, err)
		}
	}
	for _, path := range p.readOnlyFiles {
		if err := mountReadOnly(filepath.Dir(path), filepath.Base(path), map[string]bool{}); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	if err := protectDirectories(p); err != nil {
		return err
	}
	protected := p.Protected
	if p.LongRunning { // missing paths cannot be mount points, but their directories can
		for _, path := range p.Protected {
			protected = append(parentDirs(path), protected...)
		}
	}
	held := map[string]bool{}
	for _, path := range protected {
		if err := mountReadOnly(p.Workspace, path, held); err != nil {
			return fmt.Errorf("protect %s: %w", path, err)
		}
	}
	if err := hide(p.hidden); err != nil {
		return fmt.Errorf("hide a denied program: %w", err)
	}
	return os.Chdir(dir) // the same directory through the writable mount
}

// protectDirectories makes the protected files in added directories read-only.
func protectDirectories(p *policy) error {
	for _, dir := range p.Directories {
		held := map[string]bool{}
		for _, path := range p.readOnlyParts {
			if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
				if err := mountReadOnly(dir, rel, held); err != nil {
					return fmt.Errorf("protect %s: %w", path, err)
				}
			}
		}
	}
	return nil
}

// canReplaceTmp reports whether the private temp directory can replace /tmp: it must not
// hide anything that the command needs.
func canReplaceTmp(p policy, dir string) bool {
	return !slices.ContainsFunc(slices.Concat([]string{dir, p.Workspace}, p.ReadPaths, p.WritePaths), func(path string) bool {
		return isWithin(path, "/tmp")
	})
}

func cloneMount(path string) (detachedMount, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	return detachedMount{path, fd}, err
}

func (t detachedMount) attach() error {
	defer unix.Close(t.fd)
	return unix.MoveMount(t.fd, "", unix.AT_FDCWD, t.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// mountReadOnly makes an existing path of the workspace read-only, and every directory above
// it a mount (held has the existing ones), because mount points cannot be moved away. Links
// are handled by the comparison afterwards.
func mountReadOnly(workspace, path string, held map[string]bool) error {
	for _, part := range append(parentDirs(path), path) {
		full := filepath.Join(workspace, part)
		info, err := os.Lstat(full)
		if err != nil || info.Mode()&os.ModeSymlink != 0 || part != path && !info.IsDir() {
			return nil
		}
		if held[part] {
			continue
		}
		held[part] = true
		t, err := cloneMount(full)
		if err != nil {
			return err
		}
		if err := t.attach(); err != nil {
			return err
		}
	}
	readOnly := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(unix.AT_FDCWD, filepath.Join(workspace, path), unix.AT_RECURSIVE, &readOnly)
}
