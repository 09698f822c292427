package source

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// TagFlags returns the go command's flags for build tags: none without tags.
func TagFlags(tags []string) []string {
	if len(tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(tags, ",")}
}

// WriteOverlay writes texts to a directory, and returns the file for the go command's
// -overlay that puts them in the place of the files that the map names.
func WriteOverlay(dir string, texts map[string]string) (string, error) {
	replace := map[string]string{}
	for path, text := range texts {
		// Two files may have the same name in different directories.
		file := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			return "", err
		}
		replace[path] = file
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, list, 0o666)
}
