// Package windows turns profiles into the windows of package watch, and keeps them in files. A
// window costs some kilobytes, so that months of them fit where one day of profiles would not.
package windows
