package experiment

import (
	"fmt"
	"runtime"

	"millrace/tablet"
)

// Document is the result of an experiment. Times are in nanoseconds, sizes in bytes; what is unknown is absent.
type Document[Row any] struct {
	Schema   string    `json:"schema"`
	Command  string    `json:"command"`
	Settings []Setting `json:"settings"`
	Machine  Machine   `json:"machine"`
	Rows     []Row     `json:"rows"`
	Checks   []Check   `json:"checks"`
}

// Setting is one effective setting, by the name that a user would set it with.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Machine is where an experiment ran.
type Machine struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Cores      int    `json:"cores"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Go         string `json:"go"`
}

// ThisMachine describes the machine at hand.
func ThisMachine() Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0), Go: runtime.Version()}
}

// String is one line for people.
func (m Machine) String() string {
	return fmt.Sprintf("%d cores (GOMAXPROCS %d), %s/%s, %s", m.Cores, m.GOMAXPROCS, m.OS, m.Arch, m.Go)
}

// Check is an exact statement about a run, held or not.
type Check struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Value string `json:"value"`
	Want  string `json:"want"`
}

// check adds a check that two values are equal.
func check[T comparable](checks []Check, name string, value, want T) []Check {
	return append(checks, Check{Name: name, OK: value == want, Value: fmt.Sprint(value), Want: fmt.Sprint(want)})
}

// Failed is an error that wraps tablet.ErrExpectation if a check does not hold, naming the first.
func Failed(checks []Check) error {
	for _, c := range checks {
		if !c.OK {
			return fmt.Errorf("check %q: %s, want %s: %w", c.Name, c.Value, c.Want, tablet.ErrExpectation)
		}
	}
	return nil
}
