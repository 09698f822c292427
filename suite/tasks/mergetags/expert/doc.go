// Package mergetags is the expert's version of the task.
package mergetags
