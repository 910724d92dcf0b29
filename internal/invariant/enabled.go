//go:build invariants

package invariant

// Enabled says whether dear checks are on.
const Enabled = true
