// Package historyset is the expert's version: expert.go is the candidate file,
// and this file has what that finds in the task's package.
package historyset

import original "github.com/beagle-go/beagle/suite/tasks/historyset"

// Point is the task's.
type Point = original.Point
