package llm

import (
	"os"
	"path/filepath"
)

// LessonDirs returns the directories of the user's own lessons, the last the strongest: the one of
// the user's configuration, the one of the store at home, and more.
func LessonDirs(home string, more []string) []string {
	var dirs []string
	if config, err := os.UserConfigDir(); err == nil {
		dirs = append(dirs, filepath.Join(config, "beagle", "lessons"))
	}
	return append(append(dirs, filepath.Join(home, "lessons")), more...)
}
