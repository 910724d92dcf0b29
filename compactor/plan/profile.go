package plan

import (
	"fmt"
	"slices"
	"strings"

	"millrace/tablet"
)

// Profile names the release whose rules are followed. The zero value is the default, 2.1.
type Profile uint8

// The profiles.
const (
	V2_1 Profile = iota
	V1_5
	V1_10
	V2_0
	V4_0
)

var profileNames = [...]string{V2_1: "2.1", V1_5: "1.5", V1_10: "1.10", V2_0: "2.0", V4_0: "4.0"}

// Profiles are all profiles, oldest first.
func Profiles() []Profile { return []Profile{V1_5, V1_10, V2_0, V2_1, V4_0} }

// ParseProfile reads a profile's name. Another name is an ErrUsage.
func ParseProfile(name string) (Profile, error) {
	if i := slices.Index(profileNames[:], name); i >= 0 {
		return Profile(i), nil
	}
	var names []string
	for _, p := range Profiles() {
		names = append(names, p.String())
	}
	return 0, fmt.Errorf("plan: no profile %q, there are %s: %w", name, strings.Join(names, ", "), tablet.ErrUsage)
}

func (p Profile) String() string { return profileNames[p] }

// MergesMinor says whether a flush of a tablet that has too many files takes one of them along.
func (p Profile) MergesMinor() bool { return p == V1_5 || p == V2_0 }

// Parallel says whether a tablet may run several compactions at once, on different files.
func (p Profile) Parallel() bool { return p == V2_1 || p == V4_0 }
