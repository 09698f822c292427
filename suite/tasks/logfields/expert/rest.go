// Package logfields is the expert's version: expert.go is the candidate file, and
// this file has what that finds in the task's package.
package logfields

import original "github.com/beagle-go/beagle/suite/tasks/logfields"

// Field is the task's.
type Field = original.Field
