package cudatest

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// compile makes a program or library out of some of the sources, in a folder that is named by all of them.
func compile(folder, name string, options, parts []string, libraries ...string) (string, error) {
	key, err := hash(append(append([]string{name}, options...), libraries...))
	if err != nil {
		return "", err
	}
	return place(folder, key, name, func(work string) error {
		arguments := append([]string{"-o", filepath.Join(work, name)}, options...)
		for _, p := range parts {
			arguments = append(arguments, filepath.Join(work, "src", "fake", p))
		}
		return gcc(append(arguments, libraries...))
	})
}

// place returns the file of a key, which make makes in a folder that holds the sources too: whoever needs the same one
// later, in whatever process, finds it there.
func place(folder, key, name string, make func(work string) error) (string, error) {
	place := filepath.Join(folder, key)
	made := filepath.Join(place, name)
	if _, err := os.Stat(made); err == nil {
		return made, nil
	}
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if err := os.CopyFS(filepath.Join(work, "src"), sources); err != nil {
		return "", err
	}
	if err := make(work); err != nil {
		return "", err
	}
	// Another process may have been faster: then its folder stays.
	if err := os.Rename(work, place); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return made, nil
}

func gcc(arguments []string) error {
	path, err := exec.LookPath("gcc")
	if err != nil {
		return fmt.Errorf("tests with the tag cuda need gcc, as cgo does (on Debian: apt install gcc libc6-dev): %w", err)
	}
	out, err := exec.Command(path, arguments...).CombinedOutput() // #nosec G204 -- our own sources, compiled for a test
	if err != nil {
		return fmt.Errorf("gcc %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return nil
}

func hash(options []string) (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q", options)
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sources.ReadFile(path)
		fmt.Fprintf(h, "%q %q", path, text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}
