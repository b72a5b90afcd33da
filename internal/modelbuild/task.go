package modelbuild

import (
	"archive/zip"
	"bytes"
	"fmt"
)

// Member is a file of a bundle.
type Member struct {
	Name string
	Data []byte
}

// Task writes a `.task` bundle: a zip archive with stored members.
func Task(members ...Member) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.Name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(m.Data)
		}
		if err != nil {
			panic(fmt.Sprintf("modelbuild: Task member %q: %v", m.Name, err))
		}
	}
	if err := z.Close(); err != nil {
		panic(fmt.Sprintf("modelbuild: Task: %v", err))
	}
	return out.Bytes()
}
