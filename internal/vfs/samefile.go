package vfs

import "os"

// SamePath says whether two of a user's paths lead to the same file, be it through links. A path that leads nowhere is
// the same as no other.
func SamePath(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}
